//! A minimal gRPC client: long streams over HTTP/2 that carry messages as bytes. With ten thousand streams on two
//! cores, a complete client would dominate the measurement; this one is the same for every target.
//!
//! It implements only what servers require: its windows have the maximum size and are never replenished, it sends
//! little at a time and so does not track the server's windows, and it treats the end of any stream as a failure.

mod frame;

use std::collections::HashMap;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::frame::{HEADER, Header, Kind, PREFACE};

/// The size of a read, in bytes.
const READ: usize = 16 << 10;

/// The length of the prefix of a gRPC message: a compression flag and the length.
const PREFIX: usize = 5;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Output,
    /// The incomplete last message of each stream.
    parts: HashMap<u32, Vec<u8>>,
}

/// The output buffer of a connection.
#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    authority: String,
    next_stream: u32,
}

impl Connection {
    /// Opens one to this port of this machine.
    pub async fn open(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let authority = format!("127.0.0.1:{port}");
        let mut output = Output { bytes: Vec::new(), authority, next_stream: 1 };
        output.bytes.extend(PREFACE);
        output.bytes.extend(frame::settings());
        output.bytes.extend(frame::max_window());
        Ok(Self { stream, input: Vec::new(), output, parts: HashMap::new() })
    }

    /// The output that the next [`Connection::receive`] sends.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Sends the pending output, waits for input, and passes each complete message to the callback, which may append to
    /// the output. Cancel safe.
    ///
    /// # Errors
    /// If the connection or a stream ends, or the callback fails.
    pub async fn receive(
        &mut self,
        mut take: impl FnMut(u32, &[u8], &mut Output) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.flush().await?;
        self.input.reserve(READ);
        ensure!(self.stream.read_buf(&mut self.input).await? > 0, "the server closed the connection");
        let mut read = 0;
        while let Some(header) = Header::read(&self.input[read..])? {
            let end = read + HEADER + header.length;
            let Some(payload) = self.input.get(read + HEADER..end) else { break };
            match header.kind {
                Kind::Data => {
                    let output = &mut self.output;
                    messages(&mut self.parts, header.stream, payload, |message| take(header.stream, message, output))?;
                }
                Kind::Settings | Kind::Ping if header.is_ack() => {}
                Kind::Settings => self.output.bytes.extend(frame::settings_ack()),
                Kind::Ping => self.output.bytes.extend(frame::ping_ack(payload)),
                Kind::Reset => bail!("the server reset stream {}", header.stream),
                Kind::GoAway => bail!("the server sent GOAWAY"),
                Kind::Headers | Kind::Other => {}
            }
            ensure!(!header.ends_stream(), "the server ended stream {}", header.stream);
            read = end;
        }
        self.input.drain(..read);
        Ok(())
    }

    /// Sends the pending output.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn flush(&mut self) -> anyhow::Result<()> {
        while !self.output.bytes.is_empty() {
            let written = self.stream.write(&self.output.bytes).await?;
            self.output.bytes.drain(..written);
        }
        Ok(())
    }
}

impl Output {
    /// Begins a call, and returns its stream's number: 1, 3, 5 and so on.
    pub fn begin(&mut self, path: &str) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 2;
        self.bytes.extend(frame::headers(stream, path, &self.authority));
        stream
    }

    /// Sends a message.
    pub fn message(&mut self, stream: u32, message: &[u8]) {
        frame::message(&mut self.bytes, stream, message, false);
    }

    /// Sends the only message of a unary request.
    pub fn only_message(&mut self, stream: u32, message: &[u8]) {
        frame::message(&mut self.bytes, stream, message, true);
    }
}

/// Passes on the messages that are complete with this part of a stream, and buffers the rest.
fn messages(
    parts: &mut HashMap<u32, Vec<u8>>,
    stream: u32,
    payload: &[u8],
    mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let before = parts.remove(&stream).map(|mut part| {
        part.extend(payload);
        part
    });
    let mut rest = before.as_deref().unwrap_or(payload);
    while let Some((prefix, after)) = rest.split_at_checked(PREFIX) {
        ensure!(prefix[0] == 0, "a compressed message");
        let length = u32::from_be_bytes(prefix[1..].try_into().context("a length")?) as usize;
        let Some((message, after)) = after.split_at_checked(length) else { break };
        take(message)?;
        rest = after;
    }
    if !rest.is_empty() {
        parts.insert(stream, rest.to_vec());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_messages_are_reassembled() {
        let mut parts = HashMap::new();
        let mut taken: Vec<Vec<u8>> = Vec::new();
        let bytes = [0, 0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 1, 9];
        for (from, to) in [(0, 3), (3, 6), (6, 13)] {
            let mut take = |message: &[u8]| {
                taken.push(message.to_vec());
                Ok(())
            };
            messages(&mut parts, 1, &bytes[from..to], &mut take).expect("messages");
        }
        assert_eq!(taken, [vec![7, 8], vec![9]]);
        assert!(parts.is_empty());
    }

    #[tokio::test]
    async fn call_is_answered() {
        let port = tenure_harness::free_port().expect("a port");
        let server = tokio::spawn(crate::target::empty::serve(port));
        let mut connection = loop {
            match Connection::open(port).await {
                Ok(connection) => break connection,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let stream = connection.output().begin("/grpc.health.v1.Health/Check");
        connection.output().only_message(stream, &[]);
        let mut answers = 0;
        // The end of the call follows its answer, and would be a failure for this client.
        let mut take = |of, _: &[u8], _: &mut Output| {
            answers += usize::from(of == stream);
            Ok(())
        };
        while connection.receive(&mut take).await.is_ok() {}
        assert_eq!(answers, 1);
        server.abort();
    }
}
