//! Connection I/O that yields to other tasks: before a write, so that more output gathers, and after reading much, so
//! that calls start.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// The number of bytes read before the task yields to the calls that they start: some hundreds of the smallest calls.
const READ_BUDGET: usize = 16 * 1024;

/// A connection whose task yields once before it writes, so that other tasks about to send on the same connection, such
/// as many watchers of one event, share the write.
///
/// It also yields to the calls that it has started before it reads on. Otherwise calls pile up when a client sends more
/// at once than is served, and HTTP/2 ends a connection with thousands of pending small messages.
#[derive(Debug)]
pub struct CooperativeIo<S> {
    stream: S,
    has_given_way: bool,
    /// Bytes read since the last yield.
    read: usize,
}

impl<S> CooperativeIo<S> {
    /// Wraps a stream.
    pub fn new(stream: S) -> Self {
        Self { stream, has_given_way: false, read: 0 }
    }
}

/// A task that wakes itself is scheduled after the tasks that are already runnable.
fn yield_now<T>(context: &Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

impl<S: AsyncRead + Unpin> AsyncRead for CooperativeIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= READ_BUDGET {
            self.read = 0;
            return yield_now(context);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read = if read.is_pending() { 0 } else { self.read + buffer.filled().len() - before };
        read
    }
}

// Without vectored writes, HTTP/2 puts all but large frames into one buffer.
impl<S: AsyncWrite + Unpin> AsyncWrite for CooperativeIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.has_given_way {
            self.has_given_way = true;
            return yield_now(context);
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.has_given_way = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: Connected> Connected for CooperativeIo<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A client that sends `part` bytes at a time; with `pauses`, a read between parts may find no data.
    struct Client {
        part: usize,
        pauses: bool,
        is_pausing: bool,
    }

    impl AsyncRead for Client {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            self.is_pausing = self.pauses && !self.is_pausing;
            if self.is_pausing {
                return Poll::Pending;
            }
            buffer.put_slice(&vec![7; self.part]);
            Poll::Ready(Ok(()))
        }
    }

    /// Counts the reads and the yields of the connection until the client has sent `total` bytes.
    fn read(client: Client, total: usize) -> (usize, usize) {
        let (woken, mut connection) = (Arc::new(Woken::default()), CooperativeIo::new(client));
        let waker = Waker::from(woken.clone());
        let (mut reads, mut received) = (0, 0);
        while received < total {
            let mut bytes = [0; 1024];
            let mut buffer = ReadBuf::new(&mut bytes);
            reads += 1;
            let _ = Pin::new(&mut connection).poll_read(&mut Context::from_waker(&waker), &mut buffer);
            received += buffer.filled().len();
        }
        (reads, woken.0.load(Ordering::SeqCst))
    }

    #[test]
    fn reads_yield_after_each_budget() {
        let client = Client { part: 1000, pauses: false, is_pausing: false };
        let (reads, yields) = read(client, 5 * READ_BUDGET);
        assert_eq!(yields, 4);
        assert_eq!(reads, (5 * READ_BUDGET).div_ceil(1000) + yields);
    }

    #[test]
    fn reads_that_pause_within_the_budget_do_not_yield() {
        let client = Client { part: 1000, pauses: true, is_pausing: false };
        assert_eq!(read(client, 5 * READ_BUDGET).1, 0);
    }
}
