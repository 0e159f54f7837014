//! Replies over HTTP/2 to clients that speak plaintext where TLS is expected, because they would report a TLS alert as
//! a broken frame.

use std::io::Result;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::time::timeout;

/// The message to these clients. Client libraries display it and look for it.
const WHY: &[u8] = b"this server expects TLS: use https://";

/// The HTTP/2 client preface (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Timeout for the client's first request.
const REQUEST: Duration = Duration::from_secs(2);

/// The maximum number of bytes read from such a client.
const MOST: u64 = 64 * 1024;

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
const INADEQUATE_SECURITY: u32 = 0xc;

/// A frame header (RFC 9113, section 4.1) of this length and type, without flags, on stream 0.
fn head(length: u8, kind: u8) -> [u8; 9] {
    [0, 0, length, kind, 0, 0, 0, 0, 0]
}

/// Sends a GOAWAY that TLS is expected, and waits until the client has disconnected: closing with unread data may
/// discard it. It is sent after the first request, because clients report a connection that ends earlier only as
/// closed.
///
/// # Errors
/// If the client disconnects earlier.
pub(super) async fn refuse(stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<()> {
    let (reading, mut writing) = tokio::io::split(stream);
    let mut reading = reading.take(MOST);
    let mut preface = [0; PREFACE.len()];
    reading.read_exact(&mut preface).await?;
    if preface != *PREFACE {
        return Ok(());
    }
    // Some clients send no request before they receive the settings.
    writing.write_all(&head(0, SETTINGS)).await?;
    if let Ok(failed) = timeout(REQUEST, read_until_request(&mut reading)).await {
        failed?;
    }
    let length = 8 + u8::try_from(WHY.len()).unwrap_or_default();
    let mut said = head(length, GO_AWAY).to_vec();
    // The last processed stream: none.
    said.extend(0_u32.to_be_bytes());
    said.extend(INADEQUATE_SECURITY.to_be_bytes());
    said.extend(WHY);
    writing.write_all(&said).await?;
    writing.shutdown().await?;
    copy(&mut reading, &mut sink()).await.map(drop)
}

async fn read_until_request(reading: &mut (impl AsyncRead + Unpin)) -> Result<()> {
    loop {
        let [high, middle, low, kind, ..] = {
            let mut head = [0; 9];
            reading.read_exact(&mut head).await?;
            head
        };
        if kind == HEADERS {
            return Ok(());
        }
        let length = u32::from_be_bytes([0, high, middle, low]).into();
        copy(&mut (&mut *reading).take(length), &mut sink()).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn client_is_rejected_when_it_has_sent_a_request() {
        let (mut client, server) = tokio::io::duplex(1_024);
        let rejecting = tokio::spawn(refuse(server));
        client.write_all(PREFACE).await.expect("sent");
        client.write_all(&[&head(6, SETTINGS)[..], &[0; 6]].concat()).await.expect("sent");
        let mut settings = [0; 9];
        client.read_exact(&mut settings).await.expect("settings");
        assert_eq!(settings, head(0, SETTINGS));
        let mut received = Vec::new();
        let early = timeout(REQUEST / 2, client.read_buf(&mut received)).await;
        assert!(early.is_err(), "{received:?}");
        client.write_all(&head(0, HEADERS)).await.expect("sent");
        client.read_to_end(&mut received).await.expect("an end");
        assert!(received[3] == GO_AWAY && received.ends_with(WHY), "{received:?}");
        drop(client);
        rejecting.await.expect("ran").expect("the client has closed it");
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_sends_no_request_is_rejected_in_time() {
        let (mut client, server) = tokio::io::duplex(1_024);
        let rejecting = tokio::spawn(refuse(server));
        client.write_all(PREFACE).await.expect("sent");
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.expect("an end");
        assert!(received.ends_with(WHY), "{received:?}");
        drop(client);
        rejecting.await.expect("ran").expect("the client has closed it");
    }
}
