//! A connection to ZooKeeper, which is a session.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, oneshot};

use super::wire::{Body, Frame, Header, Lifetime, NO_NODE, WATCHED};

/// The session timeout, in milliseconds: the longest that the server grants. Measurements are shorter, so no pings are
/// needed beside the requests.
const TIMEOUT: i32 = 40_000;

/// The limit of an answer's length, in bytes: the server's default limit of requests.
const LONGEST: u32 = 1 << 20;

/// A session. Clones share it.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notified when output is pending.
    more: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// The pending output, written in one go.
    out: Vec<u8>,
    last_xid: i32,
    /// Pending requests; answers arrive in the order of requests.
    waiting: VecDeque<(i32, Expected)>,
    /// The watchers of each node's next change.
    watching: HashMap<String, Vec<oneshot::Sender<()>>>,
    ended: bool,
}

/// The part of an answer that the caller wants.
#[derive(Debug)]
enum Expected {
    Header(oneshot::Sender<Header>),
    /// The whole frame.
    Frame(oneshot::Sender<Vec<u8>>),
}

impl Connection {
    /// Opens one.
    pub async fn open(port: u16) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&Frame::connect(TIMEOUT).finish()).await?;
        read_frame(&mut stream, &mut Vec::new()).await.context("ZooKeeper opens no session")?;
        let (read, write) = stream.into_split();
        let shared = Arc::new(Shared::default());
        tokio::spawn(write_all(Arc::clone(&shared), write));
        tokio::spawn(read_all(Arc::clone(&shared), read));
        Ok(Self(shared))
    }

    /// Creates an ephemeral node.
    pub async fn create(&self, path: &str, data: &[u8]) -> anyhow::Result<()> {
        self.request(|xid| Frame::create(xid, path, data, Lifetime::Ephemeral)).await
    }

    /// Creates a persistent node.
    pub async fn create_persistent(&self, path: &str) -> anyhow::Result<()> {
        self.request(|xid| Frame::create(xid, path, b"", Lifetime::Persistent)).await
    }

    /// Creates an ephemeral sequential node, and returns its name, which ends with the sequence number.
    pub async fn create_sequential(&self, path: &str) -> anyhow::Result<String> {
        let frame = self.request_frame(|xid| Frame::create(xid, path, b"", Lifetime::EphemeralSequential)).await?;
        Header::read(&frame)?.check()?;
        Ok(Body::of(&frame).text()?.to_string())
    }

    /// The names of a node's children, unordered.
    pub async fn children(&self, path: &str) -> anyhow::Result<Vec<String>> {
        let frame = self.request_frame(|xid| Frame::children(xid, path)).await?;
        Header::read(&frame)?.check()?;
        let mut body = Body::of(&frame);
        (0..body.int()?).map(|_| Ok(body.text()?.to_string())).collect()
    }

    /// Waits until a node changes. Returns at once if it does not exist.
    pub async fn changed(&self, path: &str) -> anyhow::Result<()> {
        let (sender, notified) = oneshot::channel();
        self.0.queue().watching.entry(path.to_string()).or_default().push(sender);
        let frame = self.request_frame(|xid| Frame::get_watched(xid, path)).await?;
        let header = Header::read(&frame)?;
        if header.error == NO_NODE {
            self.0.queue().watching.remove(path);
            return Ok(());
        }
        header.check()?;
        notified.await.context("the connection to ZooKeeper broke")
    }

    /// Removes a node.
    pub async fn delete(&self, path: &str) -> anyhow::Result<()> {
        self.request(|xid| Frame::delete(xid, path)).await
    }

    /// Ends the session.
    pub async fn close(&self) -> anyhow::Result<()> {
        self.request(Frame::close).await
    }

    async fn request(&self, frame: impl FnOnce(i32) -> Frame) -> anyhow::Result<()> {
        let (answer, answered) = oneshot::channel();
        self.0.send(frame, Expected::Header(answer))?;
        answered.await.context("the connection to ZooKeeper broke")?.check()
    }

    async fn request_frame(&self, frame: impl FnOnce(i32) -> Frame) -> anyhow::Result<Vec<u8>> {
        let (answer, answered) = oneshot::channel();
        self.0.send(frame, Expected::Frame(answer))?;
        answered.await.context("the connection to ZooKeeper broke")
    }
}

impl Shared {
    fn send(&self, frame: impl FnOnce(i32) -> Frame, expected: Expected) -> anyhow::Result<()> {
        {
            let mut queue = self.queue();
            ensure!(!queue.ended, "the connection to ZooKeeper is gone");
            queue.last_xid += 1;
            let xid = queue.last_xid;
            queue.out.extend(frame(xid).finish());
            queue.waiting.push_back((xid, expected));
        }
        self.more.notify_one();
        Ok(())
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut queue = self.queue();
        queue.ended = true;
        queue.waiting.clear();
        queue.watching.clear();
        self.more.notify_one();
    }
}

/// Writes the pending output; more accumulates meanwhile.
async fn write_all(shared: Arc<Shared>, mut stream: OwnedWriteHalf) {
    loop {
        shared.more.notified().await;
        let out = {
            let mut queue = shared.queue();
            if queue.ended {
                return;
            }
            std::mem::take(&mut queue.out)
        };
        if stream.write_all(&out).await.is_err() {
            return shared.end();
        }
    }
}

async fn read_all(shared: Arc<Shared>, stream: OwnedReadHalf) {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let mut frame = Vec::new();
    // Ends with the connection.
    while let Ok(()) = read_answer(&shared, &mut stream, &mut frame).await {}
    shared.end();
}

async fn read_answer(
    shared: &Shared,
    stream: &mut BufReader<OwnedReadHalf>,
    frame: &mut Vec<u8>,
) -> anyhow::Result<()> {
    read_frame(stream, frame).await?;
    let header = Header::read(frame)?;
    if header.xid == WATCHED {
        return notify_watchers(shared, frame);
    }
    let Some((xid, answer)) = shared.queue().waiting.pop_front() else { bail!("an answer without a request") };
    ensure!(header.xid == xid, "answer {} instead of {xid}", header.xid);
    // The caller may have been dropped.
    match answer {
        Expected::Header(answer) => drop(answer.send(header)),
        Expected::Frame(answer) => drop(answer.send(frame.clone())),
    }
    Ok(())
}

/// Notifies the watchers of a changed node. The frame has the kind of change, the state of the session and the path.
fn notify_watchers(shared: &Shared, frame: &[u8]) -> anyhow::Result<()> {
    let mut body = Body::of(frame);
    let (_kind, _state) = (body.int()?, body.int()?);
    for watcher in shared.queue().watching.remove(body.text()?).unwrap_or_default() {
        // The watcher may have been dropped.
        let _ = watcher.send(());
    }
    Ok(())
}

/// Reads a frame after its length.
async fn read_frame(stream: &mut (impl AsyncReadExt + Unpin), frame: &mut Vec<u8>) -> anyhow::Result<()> {
    let length = stream.read_u32().await?;
    ensure!(length <= LONGEST, "a frame of {length} bytes");
    frame.resize(length as usize, 0);
    stream.read_exact(frame).await?;
    Ok(())
}
