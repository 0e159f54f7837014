//! Process faults: processes that are killed, restarted or frozen.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Fault;
use super::balancer::is_up;
use crate::deployment::Deployment;

pub(super) async fn server(
    fault: Fault,
    deployment: &Deployment,
    rng: &mut StdRng,
    lasts: Duration,
) -> anyhow::Result<bool> {
    let server = &deployment.servers[rng.random_range(0..deployment.servers.len())];
    let Ok(mut server) = server.process.try_lock() else { return Ok(false) };
    match fault {
        Fault::ServerFrozen => {
            server.pause().await?;
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

pub(super) async fn client(
    fault: Fault,
    deployment: &Deployment,
    rng: &mut StdRng,
    lasts: Duration,
) -> anyhow::Result<bool> {
    let client = &deployment.clients[rng.random_range(0..deployment.clients.len())];
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

pub(super) async fn database(fault: Fault, deployment: &Deployment, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(mut database) = deployment.database.try_lock() else { return Ok(false) };
    match fault {
        Fault::DatabaseFrozen => {
            database.freeze(true).await?;
            sleep(lasts).await;
            database.freeze(false).await?;
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

pub(super) async fn pooler(fault: Fault, deployment: &Deployment, lasts: Duration) -> anyhow::Result<bool> {
    let Some(Ok(mut pooler)) = deployment.pooler.as_ref().map(|pooler| pooler.try_lock()) else { return Ok(false) };
    if fault == Fault::PoolerFrozen {
        pooler.pause().await?;
        sleep(lasts).await;
        pooler.resume()?;
    } else {
        pooler.kill().await?;
        sleep(lasts / 4).await;
        pooler.start_again().await?;
    }
    Ok(true)
}

pub(super) async fn balancer(fault: Fault, deployment: &Deployment, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(mut balancer) = deployment.balancer.try_lock() else { return Ok(false) };
    if fault == Fault::BalancerFrozen {
        balancer.pause().await?;
        sleep(lasts).await;
        balancer.resume()?;
    } else {
        balancer.kill().await?;
        sleep(lasts / 4).await;
        balancer.start_again(is_up).await?;
    }
    Ok(true)
}
