//! A proxy between clients and a server that ends connections as load balancers do.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

/// How long a connection lasts after a GOAWAY that lets its streams continue.
const AFTER_GOAWAY: Duration = Duration::from_millis(500);

/// The length of an HTTP/2 frame header: three bytes of length, type, flags, stream.
const HEAD: usize = 9;

/// The highest stream id.
const LAST_STREAM: u32 = i32::MAX as u32;

/// A proxy in front of one server.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    ends: broadcast::Sender<End>,
}

/// How connections end.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Without a GOAWAY.
    Cut,
    /// With a GOAWAY that lets the open streams continue, and a disconnect a while later.
    GoAway,
    /// With a GOAWAY that rejects the open streams.
    Refuse,
}

impl Relay {
    /// Starts a proxy in front of the server at `url`.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn start(url: &str) -> anyhow::Result<Self> {
        let server: SocketAddr = url.strip_prefix("http://").context("not a URL")?.parse()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let ends = broadcast::Sender::new(16);
        let sender = ends.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let ends = sender.subscribe();
                tokio::spawn(async move {
                    // A failed connection has ended as well.
                    let _ = forward(client, server, ends).await;
                });
            }
        });
        Ok(Self { address, ends })
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all connections without a GOAWAY. New ones are accepted at once. Returns the number of connections.
    #[must_use]
    pub fn cut(&self) -> usize {
        self.end(End::Cut)
    }

    /// Ends all connections as a proxy does when it is reconfigured: with a GOAWAY, and a disconnect a while later.
    #[must_use]
    pub fn go_away(&self) -> usize {
        self.end(End::GoAway)
    }

    /// Ends all connections with a GOAWAY that rejects their open streams.
    #[must_use]
    pub fn refuse(&self) -> usize {
        self.end(End::Refuse)
    }

    fn end(&self, end: End) -> usize {
        self.ends.send(end).unwrap_or_default()
    }
}

async fn forward(client: TcpStream, server: SocketAddr, mut ends: broadcast::Receiver<End>) -> anyhow::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut back = Frames { from: from_server, to: to_client };
    // One copy future for the whole connection: a new one would lose the data that this one has already read.
    let mut forth = pin!(copy(&mut from_client, &mut to_server));
    let end = tokio::select! {
        copied = &mut forth => return copied.map(drop).map_err(Into::into),
        end = back.forward_until(&mut ends) => end?,
    };
    match end {
        End::Cut => {}
        End::Refuse => back.go_away(0).await?,
        End::GoAway => {
            back.go_away(LAST_STREAM).await?;
            let remaining = async { tokio::join!(forth, back.forward_all()) };
            let _ = tokio::time::timeout(AFTER_GOAWAY, remaining).await;
        }
    }
    Ok(())
}

/// The direction from server to client, frame by frame, so that a GOAWAY can be inserted.
struct Frames {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
}

impl Frames {
    async fn forward_until(&mut self, ends: &mut broadcast::Receiver<End>) -> anyhow::Result<End> {
        let mut head = [0; HEAD];
        let mut read = 0;
        loop {
            tokio::select! {
                // Only between two frames.
                end = ends.recv(), if read == 0 => return Ok(end?),
                count = self.from.read(&mut head[read..]) => match count? {
                    0 => anyhow::bail!("the server has ended the connection"),
                    count => read += count,
                },
            }
            if read == HEAD {
                self.forward_rest(&head).await?;
                read = 0;
            }
        }
    }

    async fn forward_all(&mut self) -> anyhow::Result<()> {
        let mut head = [0; HEAD];
        loop {
            self.from.read_exact(&mut head).await?;
            self.forward_rest(&head).await?;
        }
    }

    async fn forward_rest(&mut self, head: &[u8; HEAD]) -> anyhow::Result<()> {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut frame = head.to_vec();
        (&mut self.from).take(length.into()).read_to_end(&mut frame).await?;
        Ok(self.to.write_all(&frame).await?)
    }

    /// Sends a GOAWAY without an error: streams up to `last` continue.
    async fn go_away(&mut self, last: u32) -> anyhow::Result<()> {
        const HEAD_OF_GOAWAY: [u8; HEAD] = [0, 0, 8, 7, 0, 0, 0, 0, 0];
        const NO_ERROR: [u8; 4] = [0; 4];
        self.to.write_all(&[&HEAD_OF_GOAWAY[..], &last.to_be_bytes(), &NO_ERROR].concat()).await?;
        Ok(())
    }
}
