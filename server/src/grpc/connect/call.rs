//! The stream as a call, below the generated code: the connection runs as the body of its own response. So the task that
//! sends the response handles the requests, without a channel in between, and a caller that disconnects ends the
//! connection.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::mem::replace;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;

use super::Connection;
use super::outbox::Outbox;
use crate::auth::Caller;
use crate::grpc::framing::{self, Requests};
use crate::grpc::{Api, status};

const METHOD: &str = "/tenure.v1.ClientService/Connect";

/// The service of the clients' streams.
#[derive(Clone)]
pub(in crate::grpc) struct ConnectCalls(Api);

impl ConnectCalls {
    pub(in crate::grpc) fn new(api: Api) -> Self {
        Self(api)
    }
}

impl NamedService for ConnectCalls {
    const NAME: &'static str = "tenure.v1.ClientService";
}

impl tower::Service<Request<Body>> for ConnectCalls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        ready(Ok(connect(&self.0, request).map_or_else(Status::into_http, framing::respond)))
    }
}

fn connect(api: &Api, request: Request<Body>) -> Result<Conversation, Status> {
    framing::check(&request, METHOD)?;
    let outbox = Outbox::default();
    let caller = Arc::new(request.extensions().get::<Caller>().cloned().unwrap_or_default());
    api.check_stays().inspect_err(|status| status::count(status, caller.refusals()))?;
    let connection = Connection::new(api.clone(), &*api.node()?, outbox.clone(), caller);
    let run = connection.run(Requests::checked(request.into_body(), framing::check_declarations));
    Ok(Conversation { state: State::Running(Box::pin(run)), outbox })
}

/// A connection that runs whenever its response is polled for more.
struct Conversation {
    state: State,
    outbox: Outbox,
}

enum State {
    Running(Pin<Box<dyn Future<Output = Status> + Send>>),
    /// It has ended; the last messages have yet to be sent.
    Ended(Status),
    /// Everything is sent.
    Over,
}

impl http_body::Body for Conversation {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let State::Running(run) = &mut self.state
            && let Poll::Ready(status) = run.as_mut().poll(context)
        {
            self.state = State::Ended(status);
        }
        let sent = self.outbox.take();
        if !sent.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(sent))));
        }
        match replace(&mut self.state, State::Over) {
            State::Running(run) => {
                self.state = State::Running(run);
                Poll::Pending
            }
            State::Ended(status) => Poll::Ready(Some(framing::trailers(&status))),
            State::Over => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Over)
    }
}
