//! Serves KeepAlive streams below the generated code, which would keep the memory of its largest message for each
//! stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use futures::future::{Either, Ready, ready};
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use tenure_core::Rejection;
use tenure_proto::v1;
use tenure_proto::v1::session_service_server::SessionServiceServer;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use super::Api;
use super::authorize::StreamCaller;
use super::framing::{self, Requests};
use super::status::{self, rejected};
use crate::auth::Caller;
use crate::limits::MESSAGE;

const METHOD: &str = "/tenure.v1.SessionService/KeepAlive";

/// Maximum number of responses queued for a stream's reader before the stream waits for it.
const ANSWERS: usize = 16;

type Generated = SessionServiceServer<Api>;

/// The session service.
#[derive(Clone)]
pub(super) struct KeepAliveCalls {
    api: Api,
    others: Generated,
}

impl KeepAliveCalls {
    /// Serves KeepAlive, and passes the other calls to the generated code.
    pub(super) fn new(api: Api) -> Self {
        Self { others: Generated::new(api.clone()).max_decoding_message_size(MESSAGE), api }
    }
}

impl NamedService for KeepAliveCalls {
    const NAME: &'static str = Generated::NAME;
}

impl Service<Request<Body>> for KeepAliveCalls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response<Body>, Infallible>>, <Generated as Service<Request<Body>>>::Future>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.uri().path() != METHOD {
            return Either::Right(self.others.call(request));
        }
        Either::Left(ready(Ok(begin(&self.api, request).unwrap_or_else(Status::into_http))))
    }
}

fn begin(api: &Api, request: Request<Body>) -> Result<Response<Body>, Status> {
    framing::check(&request, METHOD)?;
    let caller = request.extensions().get::<Caller>().cloned().unwrap_or_default();
    let (sender, answers) = mpsc::channel(ANSWERS);
    tokio::spawn(run(api.clone(), caller, Requests::new(request.into_body()), sender));
    let frames = ReceiverStream::new(answers).map(|answer: Result<v1::KeepAliveResponse, Status>| match answer {
        Ok(answer) => {
            let mut message = BytesMut::new();
            framing::put(&mut message, &answer);
            Ok(Frame::data(message.freeze()))
        }
        Err(status) => framing::trailers(&status),
    });
    // Ignored if a status came before.
    let end = stream::once(async { framing::trailers(&Status::ok("")) });
    Ok(framing::respond(StreamBody::new(frames.chain(end))))
}

/// Replies until the stream ends. When the server drains, the stream ends with the advice to continue at another
/// server.
async fn run(
    api: Api,
    caller: Caller,
    mut requests: Requests<v1::KeepAliveRequest>,
    sender: mpsc::Sender<Result<v1::KeepAliveResponse, Status>>,
) {
    let mut stream_caller = StreamCaller::new(Arc::new(caller.clone()));
    let answer_all = async {
        while let Some(request) = requests.next().await {
            let answer = match request {
                Ok(request) => match stream_caller.admit(request) {
                    Ok(asked) => Api::keep_alive(&api, asked).await,
                    Err(status) => Err(status),
                }
                .inspect_err(|status| status::count(status, caller.refusals())),
                Err(status) => Err(status),
            };
            let refused = answer.is_err();
            if sender.send(answer).await.is_err() || refused {
                return;
            }
        }
    };
    tokio::select! {
        () = answer_all => {}
        () = api.draining().cancelled() => {
            // A reader that has disconnected needs no advice; one that does not read gets none.
            let _ = sender.try_send(Err(rejected(Rejection::Draining)));
        }
        why = caller.clone().revoked(), if caller.is_identified() => {
            let _ = sender.try_send(Err(why.into()));
        }
    }
}
