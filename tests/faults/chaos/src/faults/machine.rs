//! Faults of the machine: lost packets and busy processors. Packets are lost only in the run's own network namespace.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Fault;
use crate::deployment::Deployment;

/// Set if this process has its own network and mount namespaces.
const OWN_NAMESPACES: &str = "TENURE_CHAOS_OWN_NAMESPACES";

/// Runs a shell in new network and mount namespaces.
const NEW_NAMESPACES: [&str; 5] = ["unshare", "--net", "--mount", "sh", "-c"];

/// Sets up the new network namespace: brings up the loopback, and creates chains for rules about packets that are
/// received, and sent.
const SETUP: &str = r#"ip link set lo up && nft add table inet chaos && \
nft add chain inet chaos packets '{ type filter hook input priority 0; }' && \
nft add chain inet chaos sent '{ type filter hook output priority 0; }'"#;

/// The number of busy loops.
const LOOPS: usize = 6;

/// Returns whether this process has its own network and mount namespaces.
#[must_use]
pub fn has_own_namespaces() -> bool {
    std::env::var_os(OWN_NAMESPACES).is_some()
}

/// Re-executes this process in its own network and mount namespaces, where permitted.
pub fn enter_own_namespaces() {
    let [program, ours @ ..] = NEW_NAMESPACES;
    let mut attempt = Command::new(program);
    attempt.args(ours).arg(SETUP).stdout(Stdio::null()).stderr(Stdio::null());
    if has_own_namespaces() || !attempt.status().is_ok_and(|status| status.success()) {
        return;
    }
    let mut again = Command::new(program);
    again.args(ours).arg(format!("{SETUP} && exec \"$0\" \"$@\"")).args(std::env::args_os()).env(OWN_NAMESPACES, "1");
    // Returns only on failure: then this process continues as it is.
    let _ = again.exec();
}

/// Drops all packets between a process and others of its kind, until [`reconnect`]: it listens on `port`, they on
/// `others`, and `group` is the group of users that only this process belongs to.
pub fn isolate(port: u16, others: &[u16], group: u32) -> anyhow::Result<()> {
    let (port, group) = (port.to_string(), group.to_string());
    let rule = ["add", "rule", "inet", "chaos", "sent"];
    for end in ["sport", "dport"] {
        packets(&[&rule[..], &["tcp", end, &port, "drop"]].concat())?;
    }
    for other in others {
        packets(&[&rule[..], &["meta", "skgid", &group, "tcp", "dport", &other.to_string(), "drop"]].concat())?;
    }
    Ok(())
}

/// Ends [`isolate`].
pub fn reconnect() -> anyhow::Result<()> {
    packets(&["flush", "chain", "inet", "chaos", "sent"])
}

fn packets(rule: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("nft").args(rule).status().context("running nft")?;
    ensure!(status.success(), "nft {} failed", rule.join(" "));
    Ok(())
}

/// Drops packets in one direction.
pub(super) async fn lose_packets(
    fault: Fault,
    deployment: &Deployment,
    rng: &mut StdRng,
    lasts: Duration,
) -> anyhow::Result<bool> {
    let Ok(_machine) = deployment.machine.try_lock() else { return Ok(false) };
    let server = &deployment.servers[rng.random_range(0..deployment.servers.len())];
    let proxy = if fault == Fault::ClientPacketsLost { &server.client_proxy } else { &server.store_proxy };
    let Ok(proxy) = proxy.try_lock() else { return Ok(false) };
    let (end, port) = (if rng.random() { "sport" } else { "dport" }, proxy.port().to_string());
    packets(&["add", "rule", "inet", "chaos", "packets", "tcp", end, &port, "drop"])?;
    sleep(lasts).await;
    packets(&["flush", "chain", "inet", "chaos", "packets"])?;
    Ok(true)
}

/// Keeps the processors busy.
pub(super) async fn busy(deployment: &Deployment, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(_machine) = deployment.machine.try_lock() else { return Ok(false) };
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
