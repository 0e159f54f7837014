//! A client that sends HTTP/2 frame by frame, and reads the server's frames.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::frame::{Frame, PREFACE, code, flag, frame, kind, ping, settings};

/// The timeout of a reply, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The server's reaction to the frames sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It continues, and answers pings.
    Served,
    /// It has reset this stream with this code, and continues.
    Reset(u32, u32),
    /// It has closed the connection with a GOAWAY of this code.
    GoAway(u32),
    /// It has closed the connection without a GOAWAY.
    Closed,
}

impl Reaction {
    /// Returns whether the server ended the connection because of its load. Data sent after a GOAWAY may cause a
    /// connection reset before the GOAWAY is read.
    #[must_use]
    pub fn is_shed(self) -> bool {
        matches!(self, Self::GoAway(code::ENHANCE_YOUR_CALM) | Self::Closed)
    }
}

/// A connection.
pub struct FrameClient {
    stream: TcpStream,
    received: BytesMut,
    is_over: bool,
    /// All resets received.
    pub resets: Vec<(u32, u32)>,
}

impl FrameClient {
    /// Opens a connection and sends nothing.
    ///
    /// # Errors
    /// If it cannot connect.
    pub async fn open(server: SocketAddr) -> io::Result<Self> {
        Self::open_from(server, [127, 0, 0, 1]).await
    }

    /// Opens a connection from this address.
    ///
    /// # Errors
    /// If it cannot connect.
    pub async fn open_from(server: SocketAddr, address: [u8; 4]) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if address != [127, 0, 0, 1] {
            socket.bind((address, 0).into())?;
        }
        let stream = socket.connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: BytesMut::new(), is_over: false, resets: Vec::new() })
    }

    /// Opens a connection, and sends a valid preface with these settings.
    ///
    /// # Errors
    /// If it cannot connect.
    pub async fn handshake_with(server: SocketAddr, values: &[(u16, u32)]) -> io::Result<Self> {
        let mut client = Self::open(server).await?;
        client.send(&[PREFACE, &settings(values)].concat()).await;
        match client.next_frame().await {
            Some(first) if first.kind == kind::SETTINGS => {
                client.send(&frame(kind::SETTINGS, flag::ACK, 0, &[])).await;
                Ok(client)
            }
            other => Err(io::Error::other(format!("the server does not begin with SETTINGS but {other:?}"))),
        }
    }

    /// Opens a connection, and sends a valid preface.
    ///
    /// # Errors
    /// If it cannot connect.
    pub async fn handshake(server: SocketAddr) -> io::Result<Self> {
        Self::handshake_with(server, &[]).await
    }

    /// Sends bytes while reading frames. Returns whether the server took them.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        let Self { stream, received, is_over, .. } = self;
        let (mut reading, mut writing) = stream.split();
        let write = timeout(TIMEOUT, writing.write_all(bytes));
        let mut write = std::pin::pin!(write);
        loop {
            tokio::select! {
                biased;
                written = &mut write => return matches!(written, Ok(Ok(()))),
                read = reading.read_buf(received), if !*is_over => *is_over = !matches!(read, Ok(1..)),
            }
        }
    }

    /// Sends as many of these bytes as the server takes within that time, and reads nothing. Returns how many that
    /// were.
    pub async fn send_without_reading(&mut self, bytes: &[u8], within: Duration) -> usize {
        let mut sent = 0;
        let all = async {
            while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
                match self.stream.write(rest).await {
                    Ok(more) => sent += more,
                    Err(_) => return,
                }
            }
        };
        // An incomplete write is a result, not an error.
        let _ = timeout(within, all).await;
        sent
    }

    /// The next frame. `None`: the connection is closed.
    pub async fn next_frame(&mut self) -> Option<Frame> {
        self.next_frame_within(TIMEOUT).await
    }

    /// The next frame. `None`: the connection is closed, or no frame arrived within that time.
    pub async fn next_frame_within(&mut self, within: Duration) -> Option<Frame> {
        loop {
            if let Some((frame, length)) = Frame::parse(&self.received) {
                self.received.advance(length);
                if frame.kind == kind::RST_STREAM {
                    self.resets.push((frame.stream, frame.number(0)));
                }
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            match timeout(within, self.stream.read_buf(&mut self.received)).await {
                Ok(read) => self.is_over = !matches!(read, Ok(1..)),
                Err(_) => return None,
            }
        }
    }

    /// Determines the server's reaction to all frames sent.
    pub async fn reaction(&mut self) -> Reaction {
        // When the server answers the second ping, it has reacted to everything before the first.
        for text in [*b"is it so", *b"is it ok"] {
            self.send(&ping(text)).await;
            loop {
                let Some(frame) = self.next_frame().await else { return Reaction::Closed };
                match frame.kind {
                    kind::GOAWAY => {
                        let code = frame.number(1);
                        return if self.ends().await { Reaction::GoAway(code) } else { Reaction::Served };
                    }
                    kind::PING if frame.flags == flag::ACK && frame.payload == text => break,
                    _ => {}
                }
            }
        }
        self.resets.first().map_or(Reaction::Served, |(stream, code)| Reaction::Reset(*stream, *code))
    }

    /// Returns whether the connection ends within the timeout.
    pub async fn ends(&mut self) -> bool {
        while self.next_frame().await.is_some() {}
        self.is_over
    }

    /// Waits for the end of the connection, sending nothing, for at most that time. Returns how it ended.
    pub async fn ends_within(&mut self, within: Duration) -> Option<Reaction> {
        let mut reaction = Reaction::Closed;
        let end = async {
            while let Some(frame) = self.next_frame().await {
                if frame.kind == kind::GOAWAY && frame.number(1) != code::NO_ERROR {
                    reaction = Reaction::GoAway(frame.number(1));
                }
            }
        };
        let _ = timeout(within, end).await;
        self.is_over.then_some(reaction)
    }
}
