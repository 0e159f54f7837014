//! Bounds request bodies before they are read: the size of each message by its method's limit, the time until it is
//! complete, and the memory of incomplete messages.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tonic::body::Body;

use super::methods::{self, Method};
use super::status::{invalid, overdue, rejected};
use crate::limits::MESSAGE_TIME;
use crate::transport::frames::Frames;
use crate::transport::{Account, Incomplete, Peer};

/// Bounds the body of a request.
pub(crate) fn bounded(request: Request<Body>) -> Request<Body> {
    if request.body().is_end_stream() {
        return request;
    }
    let method = methods::method(request.uri().path());
    let account = Peer::account_of(request.extensions());
    let incomplete = account.as_ref().map(Account::incomplete);
    let until = (!method.is_stream).then(|| Instant::now() + MESSAGE_TIME);
    request.map(|body| {
        let frames = Frames::default();
        Body::new(RequestBody { body, method, frames, account, incomplete, until, late: None, end: None })
    })
}

struct RequestBody {
    body: Body,
    method: Method,
    frames: Frames,
    account: Option<Arc<Account>>,
    incomplete: Option<Incomplete>,
    /// Deadline of the message. `None`: a stream, between two messages.
    until: Option<Instant>,
    /// Created when data is awaited: usually everything is there at once.
    late: Option<Pin<Box<Sleep>>>,
    /// The task that closes the connection.
    end: Option<AbortOnDropHandle<()>>,
}

impl RequestBody {
    /// Counts received data.
    ///
    /// # Errors
    /// If a message is too large, or exceeds the limit for incomplete messages.
    fn note(&mut self, data: &[u8]) -> Result<(), Status> {
        let completed = self.frames.count(data);
        let (longest, largest) = (self.frames.longest(), self.method.largest);
        if longest > largest {
            return Err(invalid("message", format_args!("at most {largest} bytes, not {longest}")));
        }
        let held = self.frames.incomplete();
        if let Some(incomplete) = &mut self.incomplete {
            incomplete.hold(held).map_err(rejected)?;
        }
        if self.method.is_stream && completed > 0 {
            (self.until, self.late, self.end) = (None, None, None);
        }
        if held > 0 && self.until.is_none() {
            let until = Instant::now() + MESSAGE_TIME;
            self.until = Some(until);
            // A stream is not read, and so not found to be late, while its client reads no responses.
            self.end = self.account.clone().map(|account| {
                AbortOnDropHandle::new(tokio::spawn(async move {
                    sleep_until(until + MESSAGE_TIME).await;
                    account.close();
                }))
            });
        }
        Ok(())
    }

    /// Whether received data is too late. Never for a stream: its data may be unread because the caller reads no
    /// responses.
    fn is_over(&self) -> bool {
        !self.method.is_stream && self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.until else { return Poll::Pending };
        self.late.get_or_insert_with(|| Box::pin(sleep_until(until))).as_mut().poll(context)
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            // A caller that never stops sending is late, too.
            Poll::Ready(Some(Ok(frame))) if !this.is_over() => {
                let noted = frame.data_ref().map_or(Ok(()), |data| this.note(data));
                return Poll::Ready(Some(noted.map(|()| frame)));
            }
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(ended) => return Poll::Ready(ended),
            Poll::Pending => ready!(this.poll_late(context)),
        }
        let status = overdue(format!("request message not received within {MESSAGE_TIME:?}: nothing was changed"));
        Poll::Ready(Some(Err(status)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
