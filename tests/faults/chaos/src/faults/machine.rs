//! Faults of the machine: lost packets and busy processors. Packets are lost only in the run's own network namespace.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Fault;
use crate::stage::Stage;

/// Set if this process has its own network and mount namespaces.
const ALONE: &str = "TENURE_CHAOS_ALONE";

/// Runs a shell in new network and mount namespaces.
const OWN: [&str; 5] = ["unshare", "--net", "--mount", "sh", "-c"];

/// Sets up the new network namespace: brings up the loopback, and creates a table for rules.
const BEGIN: &str = r#"ip link set lo up && nft add table inet chaos && \
nft add chain inet chaos packets '{ type filter hook input priority 0; }'"#;

/// The number of busy loops.
const LOOPS: usize = 6;

/// Returns whether this process has its own network and mount namespaces.
#[must_use]
pub fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Re-executes this process in its own network and mount namespaces, where permitted.
pub fn be_alone() {
    let [program, ours @ ..] = OWN;
    let mut attempt = Command::new(program);
    attempt.args(ours).arg(BEGIN).stdout(Stdio::null()).stderr(Stdio::null());
    if is_alone() || !attempt.status().is_ok_and(|status| status.success()) {
        return;
    }
    let mut again = Command::new(program);
    again.args(ours).arg(format!("{BEGIN} && exec \"$0\" \"$@\"")).args(std::env::args_os()).env(ALONE, "1");
    // Returns only on failure: then this process continues as it is.
    let _ = again.exec();
}

fn packets(rule: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("nft").args(rule).status().context("running nft")?;
    ensure!(status.success(), "nft {} failed", rule.join(" "));
    Ok(())
}

/// Drops packets in one direction.
pub(super) async fn lose_packets(
    fault: Fault,
    stage: &Stage,
    rng: &mut StdRng,
    lasts: Duration,
) -> anyhow::Result<bool> {
    let Ok(_machine) = stage.machine.try_lock() else { return Ok(false) };
    let server = &stage.servers[rng.random_range(0..stage.servers.len())];
    let way = if fault == Fault::ClientPacketsLost { &server.front } else { &server.back };
    let Ok(way) = way.try_lock() else { return Ok(false) };
    let (end, port) = (if rng.random() { "sport" } else { "dport" }, way.port().to_string());
    packets(&["add", "rule", "inet", "chaos", "packets", "tcp", end, &port, "drop"])?;
    sleep(lasts).await;
    packets(&["flush", "chain", "inet", "chaos", "packets"])?;
    Ok(true)
}

/// Keeps the processors busy.
pub(super) async fn busy(stage: &Stage, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(_machine) = stage.machine.try_lock() else { return Ok(false) };
    let one = || {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", "while :; do :; done"]).kill_on_drop(true).spawn().context("starting a loop")
    };
    let mut loops = (0..LOOPS).map(|_| one()).collect::<anyhow::Result<Vec<_>>>()?;
    sleep(lasts).await;
    for one in &mut loops {
        one.kill().await?;
    }
    Ok(true)
}
