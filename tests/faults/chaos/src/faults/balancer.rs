//! A load balancer between clients and servers.

use std::fs;
use std::process::Command;

use anyhow::Context;
use tenure_harness::{Served, find};
use tokio::net::TcpStream;

/// Starts HAProxy in front of the servers at these URLs, with round-robin balancing.
///
/// # Errors
/// If it is not installed or does not start.
pub async fn balancer(servers: &[String]) -> anyhow::Result<Served> {
    let program = find("haproxy", "haproxy")?;
    Served::start(
        "HAProxy",
        |folder, port| {
            let mut settings = format!(
                "defaults\n mode tcp\n timeout connect 1s\n timeout client 1h\n timeout server 1h\n\
                 listen tenure\n bind 127.0.0.1:{port}\n balance roundrobin\n"
            );
            for (number, server) in servers.iter().enumerate() {
                let address = server.strip_prefix("http://").context("not a URL")?;
                settings.push_str(&format!(" server server{number} {address}\n"));
            }
            let file = folder.join("haproxy.cfg");
            fs::write(&file, settings).context("writing haproxy.cfg")?;
            let mut command = Command::new(program);
            command.arg("-db").arg("-f").arg(file);
            Ok(command)
        },
        is_up,
    )
    .await
}

/// Returns whether it accepts connections.
pub async fn is_up(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).await.is_ok()
}
