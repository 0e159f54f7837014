//! Watches of locks and groups.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::mem::take;
use std::pin::Pin;
use std::task::{Context, Poll};

use tenure_proto::v1::{self, watch_response::Kind, watch_service_client::WatchServiceClient};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_stream::Stream;
use tonic::Request;
use tracing::Instrument;

use crate::backoff::Backoff;
use crate::connection::{Connection, LARGEST_ANSWER, call_span};
use crate::error::{Error, Result};

/// How many responses of a watch may be queued for its reader. Beyond that, the flow control of HTTP/2 stops the server.
const RESPONSES_IN_QUEUE: usize = 64;

type Sender = mpsc::Sender<Result<v1::WatchResponse>>;

/// A stream of events: each revision once and in order, across reconnects. It ends when the client is closed, and after
/// an error that a retry cannot fix, which is its last item.
///
/// The parts of a snapshot are joined to one. A slow reader misses nothing: the watch is resumed after the last revision
/// that the reader has received.
#[derive(Debug)]
pub struct Watch {
    responses: mpsc::Receiver<Result<v1::WatchResponse>>,
}

impl Watch {
    /// Starts a watch in the background, without waiting.
    pub(crate) fn start(connection: &Connection, request: v1::WatchRequest) -> Self {
        let (sender, responses) = mpsc::channel(RESPONSES_IN_QUEUE);
        let request = v1::WatchRequest { namespace: connection.namespace.clone(), ..request };
        connection.runtime.spawn(run(connection.clone(), request, sender));
        Self { responses }
    }

    /// The next response; `None` after the watch has ended.
    pub async fn next(&mut self) -> Option<Result<v1::WatchResponse>> {
        self.responses.recv().await
    }
}

impl Stream for Watch {
    type Item = Result<v1::WatchResponse>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.responses.poll_recv(context)
    }
}

/// Follows the service until the reader is dropped, the client is closed, or an error occurs that a retry cannot fix.
async fn run(connection: Connection, mut request: v1::WatchRequest, sender: Sender) {
    let mut backoff = Backoff::of_commands();
    loop {
        let Err(error) = tokio::select! {
            () = sender.closed() => return,
            ended = follow(&connection, &mut request, &sender, &mut backoff) => ended,
        };
        match error {
            Error::Closed => return,
            error if error.is_transient() => tracing::debug!(%error, "the watch is resumed"),
            error => return drop(sender.send(Err(error)).await),
        }
        sleep(backoff.next_pause()).await;
    }
}

/// Watches at one server, until that ends or the connection leaves the server. Updates the request to resume after what
/// has been delivered.
async fn follow(
    connection: &Connection,
    request: &mut v1::WatchRequest,
    sender: &Sender,
    backoff: &mut Backoff,
) -> Result<Infallible> {
    let (wire, mut changes) = connection.wire(Instant::now() + connection.call_timeout).await?;
    let mut call = Request::new(request.clone());
    let span = call_span("/tenure.v1.WatchService/Watch", &mut call);
    let mut service = WatchServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER);
    let watching = async {
        let mut responses = service.watch(call).instrument(span).await?.into_inner();
        // The parts of a snapshot received so far; of a lock that changed meanwhile, the last state.
        let (mut locks, mut groups) = (BTreeMap::new(), Vec::new());
        while let Some(mut response) = responses.message().await? {
            backoff.reset();
            let mut after = response.revision;
            match &mut response.kind {
                Some(Kind::Snapshot(part)) => {
                    locks.extend(part.locks.drain(..).map(|lock| (lock.name.clone(), lock)));
                    groups.append(&mut part.groups);
                    if take(&mut part.more) {
                        continue;
                    }
                    (part.locks, part.groups) = (take(&mut locks).into_values().collect(), take(&mut groups));
                }
                Some(Kind::HistoryGone(_)) => (locks, groups, after) = Default::default(),
                _ => {}
            }
            sender.send(Ok(response)).await.map_err(|_| Error::Closed)?;
            request.after_revision = after;
        }
        Err(Error::Unavailable("the server ended the watch".to_owned()))
    };
    tokio::select! {
        ended = watching => ended,
        // A silent server would not end it.
        _ = changes.changed() => Err(Error::Unavailable("the connection has left the server".to_owned())),
    }
}
