//! Asks a running server whether it is ready, for containers without another HTTP client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(5);

const MAX_BYTES: u64 = 64 * 1024;

/// Requests `/readyz` from the server whose admin port is bound to `address`.
///
/// # Errors
/// If the server is not ready, with its reasons, or does not answer.
pub async fn check(address: SocketAddr) -> anyhow::Result<()> {
    let address = reachable(address);
    let answer = tokio::time::timeout(TIMEOUT, ask(address)).await;
    let answer = answer
        .with_context(|| format!("{address} did not answer within {TIMEOUT:?}"))?
        .with_context(|| format!("cannot query {address}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split_whitespace().nth(1) {
        Some("200") => Ok(()),
        Some(status) => bail!("not ready ({status}): {body}"),
        None => bail!("{address} does not speak HTTP"),
    }
}

async fn ask(address: SocketAddr) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Maps an unspecified address to the loopback address.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}
