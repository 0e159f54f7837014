//! Adds the server version to every answer and accounts for answers until they are sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use crate::limits;
use crate::transport::{Account, Peer, Unsent};

/// The header of every answer with the server version.
pub(crate) const VERSION_HEADER: &str = "tenure-version";

/// The version of this server.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Watches wait while much is unsent, so that a connection is closed only if its client reads nothing for a long time.
const WATCH: &str = "/tenure.v1.WatchService/Watch";

/// The other call whose answer is a stream.
const CONNECT: &str = "/tenure.v1.ClientService/Connect";

/// The layer that adds [`Answers`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswersLayer;

impl<S> Layer<S> for AnswersLayer {
    type Service = Answers<S>;

    fn layer(&self, inner: S) -> Answers<S> {
        Answers(inner)
    }
}

/// Accounts for the answers of the inner service.
#[derive(Clone)]
pub(crate) struct Answers<S>(S);

impl<S> Service<Request<Body>> for Answers<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let account = Peer::account_of(request.extensions());
        let is_watch = request.uri().path() == WATCH;
        let is_stream = is_watch || request.uri().path() == CONNECT;
        let overhead = if is_stream { limits::STREAMED } else { limits::ANSWER };
        Answering { inner: self.0.call(request), account, is_watch, overhead }
    }
}

pin_project! {
    /// A call until its answer begins.
    pub(crate) struct Answering<F> {
        #[pin]
        inner: F,
        account: Option<Arc<Account>>,
        is_watch: bool,
        overhead: usize,
    }
}

impl<F, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.account.as_deref().is_some_and(Account::is_closed) {
            // The call ends with its connection, and must not produce further answers until then.
            return Poll::Pending;
        }
        let answer = ready!(this.inner.poll(context));
        Poll::Ready(answer.map(|mut response| {
            response.headers_mut().insert(VERSION_HEADER, version(this.account.as_ref(), *this.overhead));
            let Some(account) = this.account.take() else { return response };
            let (is_watch, overhead) = (*this.is_watch, *this.overhead);
            response.map(|body| Body::new(Counted { body, account, is_watch, overhead, late: None }))
        }))
    }
}

/// The version header. It is dropped once the headers are sent, which ends their accounting.
fn version(account: Option<&Arc<Account>>, overhead: usize) -> HeaderValue {
    let Some(account) = account else { return HeaderValue::from_static(VERSION) };
    let bytes = unsent(account, Bytes::from_static(VERSION.as_bytes()), overhead);
    let mut value = HeaderValue::from_maybe_shared(bytes).unwrap_or(HeaderValue::from_static(VERSION));
    // Not secret, but it must not be kept in the connection's header table.
    value.set_sensitive(true);
    value
}

/// The same bytes, counted with this overhead until they are dropped.
fn unsent(account: &Arc<Account>, bytes: Bytes, overhead: usize) -> Bytes {
    let unsent = account.unsent(bytes.len() + overhead);
    Bytes::from_owner(Part { bytes, _unsent: unsent })
}

/// Part of an answer.
struct Part {
    bytes: Bytes,
    _unsent: Unsent,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

struct Counted {
    body: Body,
    account: Arc<Account>,
    is_watch: bool,
    overhead: usize,
    /// Fires when a watch has waited for too long.
    late: Option<Pin<Box<Sleep>>>,
}

impl Counted {
    /// Waits until a watch may send more, at most for the time that its client may read nothing.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.account.is_closed() {
            return Poll::Pending;
        }
        if self.account.poll_room(context).is_ready() {
            self.late = None;
            return Poll::Ready(());
        }
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(limits::WATCHES_WAIT)));
        if late.as_mut().poll(context).is_ready() {
            self.account.close();
        }
        Poll::Pending
    }
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_watch {
            ready!(self.poll_room(context));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let count = |bytes| unsent(&self.account, bytes, self.overhead);
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(count))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::poll_fn;
    use http_body::Body as _;

    use super::*;
    use crate::limits::Buffers;
    use crate::transport::Accounts;

    #[tokio::test(start_paused = true)]
    async fn connection_of_a_client_that_does_not_read_is_closed() {
        let account = Accounts::new(&Buffers::default()).open(None);
        let body = Body::new(http_body_util::Full::new(Bytes::from_static(b"message")));
        let mut watch = Counted { body, account: account.clone(), is_watch: true, overhead: 0, late: None };
        let unsent = account.unsent(limits::WATCHES_UNSENT);
        let mut next = poll_fn(|context| Pin::new(&mut watch).poll_frame(context));
        let waited = tokio::time::timeout(limits::WATCHES_WAIT - Duration::from_secs(1), &mut next).await;
        assert!(waited.is_err() && !account.is_closed());
        let waited = tokio::time::timeout(Duration::from_secs(2), &mut next).await;
        assert!(waited.is_err() && account.is_closed());
        drop(unsent);
    }

    /// Each connection sends when all of its streams have had their turn.
    #[tokio::test]
    async fn event_for_very_many_watches_closes_no_connection() {
        const CONNECTIONS: usize = 100;
        let accounts = Accounts::new(&Buffers::default());
        let accounts: Vec<_> = (0..CONNECTIONS).map(|_| accounts.open(None)).collect();
        let event = Bytes::from(vec![0; 300]);
        let mut watches: Vec<_> = (0..300 * CONNECTIONS)
            .map(|number| {
                let body = Body::new(http_body_util::Full::new(event.clone()));
                let account = accounts[number % CONNECTIONS].clone();
                Counted { body, account, is_watch: true, overhead: limits::STREAMED, late: None }
            })
            .collect();
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut rounds = 0;
        while !watches.is_empty() {
            let mut unsent = Vec::new();
            watches.retain_mut(|watch| {
                let Poll::Ready(frame) = Pin::new(watch).poll_frame(&mut context) else { return true };
                unsent.extend(frame);
                false
            });
            assert!(!accounts.iter().any(|account| account.is_closed()));
            assert!(!unsent.is_empty(), "no watch may send");
            rounds += 1;
        }
        assert!(rounds > 1, "they did not have to wait");
    }
}
