//! One who speaks HTTP/2 frame by frame, and hears what the server says to that.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::frame::{Frame, PREFACE, code, flag, frame, kind, ping, settings};

/// No answer of a server takes longer, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the server makes of what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, and answers pings.
    Served,
    /// It has reset this stream with this code, and goes on.
    Reset(u32, u32),
    /// It has ended the connection with a GOAWAY of this code.
    GoAway(u32),
    /// It has ended the connection without a word.
    Cut,
}

/// A connection.
pub struct Speaker {
    stream: TcpStream,
    heard: BytesMut,
    is_over: bool,
    /// All resets that were heard.
    pub resets: Vec<(u32, u32)>,
}

impl Speaker {
    /// A connection on which nothing is said yet.
    ///
    /// # Errors
    /// If it cannot be had.
    pub async fn silent(server: SocketAddr) -> io::Result<Self> {
        Self::from(server, [127, 0, 0, 1]).await
    }

    /// One from this address.
    ///
    /// # Errors
    /// If it cannot be had.
    pub async fn from(server: SocketAddr, address: [u8; 4]) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if address != [127, 0, 0, 1] {
            socket.bind((address, 0).into())?;
        }
        let stream = socket.connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, heard: BytesMut::new(), is_over: false, resets: Vec::new() })
    }

    /// A connection that has begun as it should, with these settings.
    ///
    /// # Errors
    /// If it cannot be had.
    pub async fn greet_with(server: SocketAddr, ours: &[(u16, u32)]) -> io::Result<Self> {
        let mut speaker = Self::silent(server).await?;
        speaker.say(&[PREFACE, &settings(ours)].concat()).await;
        match speaker.hear().await {
            Some(first) if first.kind == kind::SETTINGS => {
                speaker.say(&frame(kind::SETTINGS, flag::ACK, 0, &[])).await;
                Ok(speaker)
            }
            other => Err(io::Error::other(format!("the server does not begin with SETTINGS but {other:?}"))),
        }
    }

    /// A connection that has begun as it should.
    ///
    /// # Errors
    /// If it cannot be had.
    pub async fn greet(server: SocketAddr) -> io::Result<Self> {
        Self::greet_with(server, &[]).await
    }

    /// Says this, and hears meanwhile. Whether the server took it.
    pub async fn say(&mut self, bytes: &[u8]) -> bool {
        let Self { stream, heard, is_over, .. } = self;
        let (mut reading, mut writing) = stream.split();
        let write = timeout(PATIENCE, writing.write_all(bytes));
        let mut write = std::pin::pin!(write);
        loop {
            tokio::select! {
                biased;
                written = &mut write => return matches!(written, Ok(Ok(()))),
                read = reading.read_buf(heard), if !*is_over => *is_over = !matches!(read, Ok(1..)),
            }
        }
    }

    /// Says as much of this as the server takes within that time, and hears nothing. How much that is.
    pub async fn shout(&mut self, bytes: &[u8], within: Duration) -> usize {
        let mut said = 0;
        let all = async {
            while let Some(rest) = bytes.get(said..).filter(|rest| !rest.is_empty()) {
                match self.stream.write(rest).await {
                    Ok(more) => said += more,
                    Err(_) => return,
                }
            }
        };
        // What it does not take, it does not take.
        let _ = timeout(within, all).await;
        said
    }

    /// The next frame. `None`: the connection is over.
    pub async fn hear(&mut self) -> Option<Frame> {
        self.hear_within(PATIENCE).await
    }

    /// The next frame. `None`: the connection is over, or there is none within that time.
    pub async fn hear_within(&mut self, within: Duration) -> Option<Frame> {
        loop {
            if let Some((frame, length)) = Frame::parse(&self.heard) {
                self.heard.advance(length);
                if frame.kind == kind::RST_STREAM {
                    self.resets.push((frame.stream, frame.number(0)));
                }
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            match timeout(within, self.stream.read_buf(&mut self.heard)).await {
                Ok(read) => self.is_over = !matches!(read, Ok(1..)),
                Err(_) => return None,
            }
        }
    }

    /// What the server makes of all that was said.
    pub async fn verdict(&mut self) -> Verdict {
        // What it has to say to what came before a ping, it has said when it answers the second one.
        for text in [*b"is it so", *b"is it ok"] {
            self.say(&ping(text)).await;
            loop {
                let Some(frame) = self.hear().await else { return Verdict::Cut };
                match frame.kind {
                    kind::GOAWAY => {
                        let code = frame.number(1);
                        return if self.ends().await { Verdict::GoAway(code) } else { Verdict::Served };
                    }
                    kind::PING if frame.flags == flag::ACK && frame.payload == text => break,
                    _ => {}
                }
            }
        }
        self.resets.first().map_or(Verdict::Served, |(stream, code)| Verdict::Reset(*stream, *code))
    }

    /// Whether the connection ends, in the patience of this.
    pub async fn ends(&mut self) -> bool {
        while self.hear().await.is_some() {}
        self.is_over
    }

    /// Waits for the end of the connection, without a word, within that time: whether it came, and with which GOAWAY.
    pub async fn ends_within(&mut self, within: Duration) -> Option<Verdict> {
        let mut verdict = Verdict::Cut;
        let end = async {
            while let Some(frame) = self.hear().await {
                if frame.kind == kind::GOAWAY && frame.number(1) != code::NO_ERROR {
                    verdict = Verdict::GoAway(frame.number(1));
                }
            }
        };
        let _ = timeout(within, end).await;
        self.is_over.then_some(verdict)
    }
}
