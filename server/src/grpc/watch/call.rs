//! Serves the plain Watch call, below the generated code because its messages are already encoded.

use std::convert::Infallible;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use tenure_core::Rejection;
use tenure_proto::v1;
use tokio_stream::Stream;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;

use super::Watch;
use crate::auth::Caller;
use crate::grpc::Api;
use crate::grpc::framing::{self, Requests};
use crate::grpc::status::rejected;
use crate::transport::Peer;

const METHOD: &str = "/tenure.v1.WatchService/Watch";

/// The service of the plain Watch call.
#[derive(Clone)]
pub(in crate::grpc) struct WatchCalls(Api);

impl WatchCalls {
    pub(in crate::grpc) fn new(api: Api) -> Self {
        Self(api)
    }
}

impl NamedService for WatchCalls {
    const NAME: &'static str = "tenure.v1.WatchService";
}

impl tower::Service<Request<Body>> for WatchCalls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let api = self.0.clone();
        Box::pin(async move {
            let watch = begin(&api, request).await;
            Ok(watch.map_or_else(Status::into_http, framing::respond))
        })
    }
}

async fn begin(api: &Api, request: Request<Body>) -> Result<WatchBody, Status> {
    framing::check(&request, METHOD)?;
    let connection = request.extensions().get::<Arc<Peer>>().and_then(|peer| peer.address);
    let connection = BuildHasherDefault::<DefaultHasher>::default().hash_one(connection);
    let caller = request.extensions().get::<Caller>().cloned().unwrap_or_default();
    let mut requests = Requests::new(request.into_body());
    let request: v1::WatchRequest =
        requests.next().await.ok_or_else(|| Status::internal("Missing request message."))??;
    let watched = caller.is_identified().then(|| request.clone());
    let watch = caller.carry_out(request, |asked| api.watch(asked, connection)).await?;
    let dismissed =
        watched.map(|watched| -> Dismissed { Box::pin(async move { caller.dismissed(Some(watched)).await }) });
    Ok(WatchBody { watch: Some(watch), dismissed })
}

/// The response body of a watch, until the watch has ended.
struct WatchBody {
    watch: Option<Watch>,
    dismissed: Option<Dismissed>,
}

/// Completes when the caller may no longer watch this.
type Dismissed = Pin<Box<dyn Future<Output = Status> + Send>>;

impl http_body::Body for WatchBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let body = &mut *self;
        let Some(watch) = &mut body.watch else { return Poll::Ready(None) };
        let dismissed = body.dismissed.as_mut().map_or(Poll::Pending, |dismissed| dismissed.as_mut().poll(context));
        if let Poll::Ready(status) = dismissed {
            self.watch = None;
            return Poll::Ready(Some(framing::trailers(&status)));
        }
        let status = match Pin::new(&mut *watch).poll_next(context) {
            // Advises the client to resume at another server.
            _ if watch.is_draining() => rejected(Rejection::Draining),
            Poll::Ready(Some(message)) => return Poll::Ready(Some(Ok(Frame::data(message)))),
            Poll::Ready(None) => Status::ok(""),
            Poll::Pending => return Poll::Pending,
        };
        self.watch = None;
        Poll::Ready(Some(framing::trailers(&status)))
    }

    fn is_end_stream(&self) -> bool {
        self.watch.is_none()
    }
}
