//! Process faults: processes that are killed, restarted or frozen.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Fault;
use super::balancer::is_up;
use crate::stage::Stage;

pub(super) async fn server(fault: Fault, stage: &Stage, rng: &mut StdRng, lasts: Duration) -> anyhow::Result<bool> {
    let server = &stage.servers[rng.random_range(0..stage.servers.len())];
    let Ok(mut server) = server.process.try_lock() else { return Ok(false) };
    match fault {
        Fault::ServerFrozen => {
            server.pause()?;
            sleep(lasts).await;
            server.resume()?;
        }
        Fault::ServerRestarted => {
            server.stop().await?;
            server.start_unready().await?;
        }
        _ => {
            server.kill().await?;
            sleep(lasts / 4).await;
            server.start_unready().await?;
        }
    }
    Ok(true)
}

pub(super) async fn client(fault: Fault, stage: &Stage, rng: &mut StdRng, lasts: Duration) -> anyhow::Result<bool> {
    let client = &stage.clients[rng.random_range(0..stage.clients.len())];
    let Ok(mut client) = client.try_lock() else { return Ok(false) };
    if fault == Fault::ClientFrozen {
        client.freeze(true)?;
        sleep(lasts).await;
        client.freeze(false)?;
    } else {
        client.kill().await?;
        sleep(lasts / 4).await;
        client.start_again()?;
    }
    Ok(true)
}

pub(super) async fn database(fault: Fault, stage: &Stage, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(mut database) = stage.database.try_lock() else { return Ok(false) };
    match fault {
        Fault::DatabaseFrozen => {
            database.freeze(true)?;
            sleep(lasts).await;
            database.freeze(false)?;
        }
        Fault::DatabaseRestarted => {
            database.stop().await?;
            database.start_again().await?;
        }
        _ => {
            database.kill().await?;
            sleep(lasts / 4).await;
            database.start_again().await?;
        }
    }
    Ok(true)
}

pub(super) async fn pooler(fault: Fault, stage: &Stage, lasts: Duration) -> anyhow::Result<bool> {
    let Some(Ok(mut pooler)) = stage.pooler.as_ref().map(|pooler| pooler.try_lock()) else { return Ok(false) };
    if fault == Fault::PoolerFrozen {
        pooler.pause()?;
        sleep(lasts).await;
        pooler.resume()?;
    } else {
        pooler.kill().await?;
        sleep(lasts / 4).await;
        pooler.start_again().await?;
    }
    Ok(true)
}

pub(super) async fn balancer(fault: Fault, stage: &Stage, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(mut balancer) = stage.balancer.try_lock() else { return Ok(false) };
    if fault == Fault::BalancerFrozen {
        balancer.pause()?;
        sleep(lasts).await;
        balancer.resume()?;
    } else {
        balancer.kill().await?;
        sleep(lasts / 4).await;
        balancer.start_again(is_up).await?;
    }
    Ok(true)
}
