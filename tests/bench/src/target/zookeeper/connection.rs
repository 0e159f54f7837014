//! A connection to ZooKeeper, which is a session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, oneshot};

use super::wire::{Frame, Header};

/// How long the session outlives its last sign of life, in milliseconds: the longest that the server grants. The bench
/// measures for shorter than that, so no sign of life is needed beside the requests.
const TIMEOUT: i32 = 40_000;

/// No answer is longer than what the server takes by default, in bytes.
const LONGEST: u32 = 1 << 20;

/// A session: clones share it.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Line>);

#[derive(Debug, Default)]
struct Line {
    queue: Mutex<Queue>,
    /// There is something to write.
    more: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// To be written, all at once.
    out: Vec<u8>,
    last_xid: i32,
    /// Answers come in the order of the requests.
    waiting: VecDeque<(i32, oneshot::Sender<Header>)>,
    ended: bool,
}

impl Connection {
    /// Opens one.
    pub async fn open(port: u16) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&Frame::connect(TIMEOUT).finish()).await?;
        read_frame(&mut stream, &mut Vec::new()).await.context("ZooKeeper opens no session")?;
        let (read, write) = stream.into_split();
        let line = Arc::new(Line::default());
        tokio::spawn(write_all(Arc::clone(&line), write));
        tokio::spawn(read_all(Arc::clone(&line), read));
        Ok(Self(line))
    }

    /// Makes a node that ends with the session.
    pub async fn create(&self, path: &str, data: &[u8]) -> anyhow::Result<()> {
        self.ask(|xid| Frame::create(xid, path, data)).await
    }

    /// Removes a node.
    pub async fn delete(&self, path: &str) -> anyhow::Result<()> {
        self.ask(|xid| Frame::delete(xid, path)).await
    }

    /// Ends the session.
    pub async fn close(&self) -> anyhow::Result<()> {
        self.ask(Frame::close).await
    }

    async fn ask(&self, frame: impl FnOnce(i32) -> Frame) -> anyhow::Result<()> {
        let (answer, answered) = oneshot::channel();
        {
            let mut queue = self.0.queue();
            ensure!(!queue.ended, "the connection to ZooKeeper is gone");
            queue.last_xid += 1;
            let xid = queue.last_xid;
            queue.out.extend(frame(xid).finish());
            queue.waiting.push_back((xid, answer));
        }
        self.0.more.notify_one();
        answered.await.context("the connection to ZooKeeper broke")?.check()
    }
}

impl Line {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut queue = self.queue();
        queue.ended = true;
        queue.waiting.clear();
        self.more.notify_one();
    }
}

/// Writes what there is, and meanwhile more gathers.
async fn write_all(line: Arc<Line>, mut stream: OwnedWriteHalf) {
    loop {
        line.more.notified().await;
        let out = {
            let mut queue = line.queue();
            if queue.ended {
                return;
            }
            std::mem::take(&mut queue.out)
        };
        if stream.write_all(&out).await.is_err() {
            return line.end();
        }
    }
}

async fn read_all(line: Arc<Line>, stream: OwnedReadHalf) {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let mut frame = Vec::new();
    // Ends with the connection.
    while let Ok(()) = answer_one(&line, &mut stream, &mut frame).await {}
    line.end();
}

async fn answer_one(line: &Line, stream: &mut BufReader<OwnedReadHalf>, frame: &mut Vec<u8>) -> anyhow::Result<()> {
    read_frame(stream, frame).await?;
    let header = Header::read(frame)?;
    let Some((xid, answer)) = line.queue().waiting.pop_front() else { bail!("an answer that nobody waits for") };
    ensure!(header.xid == xid, "answer {} instead of {xid}", header.xid);
    let _ = answer.send(header);
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
