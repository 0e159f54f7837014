//! Streams of renewals, below the generated code: that would keep for each of them what its largest message took.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use futures::future::{Either, Ready, ready};
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use tenure_proto::v1;
use tenure_proto::v1::session_service_server::SessionServiceServer;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use super::Api;
use super::authorize::Speaker;
use super::framing::{self, Requests};
use super::status::Problem;
use crate::auth::Caller;
use crate::sequencer::Refusal;

const METHOD: &str = "/tenure.v1.SessionService/KeepAlive";

/// How many answers wait for a stream's reader before the stream waits for it.
const ANSWERS: usize = 16;

type Generated = SessionServiceServer<Api>;

/// The calls about sessions.
#[derive(Clone)]
pub(super) struct KeepAliveCalls {
    api: Api,
    others: Generated,
}

impl KeepAliveCalls {
    /// These, and by the generated code the others.
    pub(super) fn new(api: Api, others: Generated) -> Self {
        Self { api, others }
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
    // What comes after a status is not looked at.
    let end = stream::once(async { framing::trailers(&Status::ok("")) });
    Ok(framing::respond(StreamBody::new(frames.chain(end))))
}

/// Answers until the stream ends. When the server drains, it ends with the advice to go on elsewhere.
async fn run(
    api: Api,
    caller: Caller,
    mut requests: Requests<v1::KeepAliveRequest>,
    sender: mpsc::Sender<Result<v1::KeepAliveResponse, Status>>,
) {
    let mut speaker = Speaker::new(Arc::new(caller.clone()));
    let answer_all = async {
        while let Some(request) = requests.next().await {
            let answer = match request {
                Ok(request) => match speaker.admit(request) {
                    Ok(asked) => Api::keep_alive(&api, asked).await,
                    Err(problem) => Err(problem),
                }
                .map_err(|problem| {
                    problem.count(speaker.caller().refusals());
                    Status::from(problem)
                }),
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
            // A reader that has gone needs no advice; one that does not read gets none.
            let _ = sender.try_send(Err(Problem::Refused(Refusal::Draining).into()));
        }
        why = caller.clone().revoked(), if caller.is_identified() => {
            let _ = sender.try_send(Err(Problem::Unidentified(why).into()));
        }
    }
}
