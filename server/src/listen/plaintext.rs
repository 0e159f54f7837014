//! The answer to clients that speak plaintext where TLS is expected: one that they understand, in place of an alert of TLS, which
//! they take for a broken frame.

use std::io::Result;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is said to them. Client libraries show it, and look for it.
const WHY: &[u8] = b"this server expects TLS: use https://";

/// The head of a frame (RFC 9113, section 4.1): of what length and type, without flags, on the connection's own stream.
fn head(length: u8, kind: u8) -> [u8; 9] {
    [0, 0, length, kind, 0, 0, 0, 0, 0]
}

/// Says by HTTP/2 that TLS is expected, and waits until the client has gone: what is closed before all is read may be lost.
///
/// # Errors
/// If it goes before that.
pub(super) async fn refuse(mut stream: TcpStream) -> Result<()> {
    const SETTINGS: u8 = 4;
    const GO_AWAY: u8 = 7;
    const INADEQUATE_SECURITY: u32 = 0xc;
    let mut greeting = [0; 3];
    stream.read_exact(&mut greeting).await?;
    if greeting != *b"PRI" {
        return Ok(());
    }
    let length = 8 + u8::try_from(WHY.len()).unwrap_or_default();
    let mut said = head(0, SETTINGS).to_vec();
    said.extend(head(length, GO_AWAY));
    // No stream of the client was looked at.
    said.extend(0_u32.to_be_bytes());
    said.extend(INADEQUATE_SECURITY.to_be_bytes());
    said.extend(WHY);
    stream.write_all(&said).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(MOST), &mut tokio::io::sink()).await.map(drop)
}

/// What is read of what such a client sends, in bytes.
const MOST: u64 = 64 * 1024;
