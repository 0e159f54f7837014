//! Carries gRPC over the simulated network. The request, the response and each frame of their bodies are separate
//! messages, delivered in order. HTTP/2 and the layers below it are not simulated.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use tenure_client::transport as client;
use tenure_server::cluster::membership::MemberView;
use tenure_server::peer;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tonic::Status;
use tonic::body::Body;
use tower::{Service, service_fn};

use crate::defect::wire::Proxy;
use crate::host::{HostContext, HostId};
use crate::network::{Connection, Side};
use crate::outbox::{Route, Sent};
use crate::world::World;

/// Port of every host; the host number is the last part of the address.
const PORT: u16 = 7420;

/// Connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Address of a host's services.
#[must_use]
pub fn address(host: HostId) -> String {
    format!("10.0.0.{host}:{PORT}")
}

fn host_at(address: &str) -> Option<HostId> {
    address.strip_suffix(&format!(":{PORT}"))?.strip_prefix("10.0.0.")?.parse().ok()
}

impl HostContext {
    fn send(&self, route: Route, action: impl FnOnce(&mut World) + Send + 'static) {
        self.outbox.send(Sent { at: self.time.now(), from: self.host, route, action: Box::new(action) });
    }

    /// Connects to a host.
    async fn dial(&self, address: &str) -> Result<Arc<Connection>, String> {
        let to = host_at(address).ok_or("no such address")?;
        let (reply, connected) = oneshot::channel();
        let (from, run, outbox) = (self.host, self.run, self.outbox.clone());
        self.send(Route::Host(to), move |world| {
            let connection = world.connect(from, run, to);
            let action = move |_: &mut World| drop(reply.send(connection));
            outbox.send(Sent { at: world.now(), from: to, route: Route::Host(from), action: Box::new(action) });
        });
        match tokio::time::timeout(CONNECT_TIMEOUT, connected).await {
            Ok(Ok(Some(connection))) => Ok(connection),
            Ok(_) => Err("connection refused".to_owned()),
            Err(_) => Err("connection timed out".to_owned()),
        }
    }
}

/// Opens connections from a host.
#[derive(Clone)]
pub struct Dialler {
    context: HostContext,
    /// Alters what clients send and receive, if the world has a defect.
    proxy: Option<Arc<Proxy>>,
}

impl Dialler {
    /// Opens connections from this host.
    #[must_use]
    pub fn new(context: HostContext) -> Self {
        let proxy = context.defect.map(|defect| Arc::new(Proxy::new(defect)));
        Self { context, proxy }
    }

    /// Opens connections from this host that no defect alters.
    #[must_use]
    pub fn plain(context: HostContext) -> Self {
        Self { context, proxy: None }
    }
}

impl client::Connector for Dialler {
    fn connect(&self, server: &tonic::transport::Uri) -> BoxFuture<'static, Result<client::Wire, String>> {
        let (Self { context, proxy }, address) =
            (self.clone(), server.authority().map(ToString::to_string).unwrap_or_default());
        async move {
            let connection = context.dial(&address).await?;
            let call = move |request| call(context.clone(), connection.clone(), request);
            Ok(match proxy {
                None => client::Wire::new(service_fn(call)),
                Some(proxy) => {
                    client::Wire::new(service_fn(move |request| proxy.clone().forward(request, call.clone())))
                }
            })
        }
        .boxed()
    }
}

impl peer::Connector for Dialler {
    fn connect(&self, member: &MemberView) -> Result<peer::Wire, String> {
        let lazy = LazyConnection {
            context: self.context.clone(),
            address: member.address.clone(),
            connection: Arc::default(),
        };
        Ok(peer::Wire::new(service_fn(move |request| lazy.clone().call(request))))
    }
}

/// A lazily opened connection.
#[derive(Clone)]
struct LazyConnection {
    context: HostContext,
    address: String,
    connection: Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>,
}

impl LazyConnection {
    async fn call(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let connection = {
            let mut connection = self.connection.lock().await;
            match connection.as_ref().filter(|connection| !connection.broken(Side::Caller).is_cancelled()) {
                Some(connection) => connection.clone(),
                None => connection.insert(self.context.dial(&self.address).await.map_err(Status::unavailable)?).clone(),
            }
        };
        call(self.context, connection, request).await
    }
}

type BodyFrame = Result<Frame<Bytes>, Status>;

/// Sends a call over a connection. The request is sent at once, before the returned future is polled.
fn call(
    context: HostContext,
    connection: Arc<Connection>,
    request: Request<Body>,
) -> impl Future<Output = Result<Response<Body>, Status>> + Send {
    let (parts, body) = request.into_parts();
    let (request_sender, request_frames) = unbounded();
    let (response_sender, response_frames) = unbounded();
    let (head_sender, head) = oneshot::channel();
    let handler = Handler::default();
    let called = Called {
        connection: connection.clone(),
        parts,
        request_frames,
        head_sender,
        response_sender,
        handler: handler.clone(),
    };
    context.send(Route::Connection(connection.clone(), Side::Caller), move |world| world.serve(called));
    tokio::spawn(send_body(context.clone(), connection.clone(), Side::Caller, body, request_sender));
    let cancelling = CancelOnDrop { context, connection: connection.clone(), handler };
    async move {
        let answer = tokio::select! {
            head = head => head.map_err(|_| Status::unavailable("the call was cut off"))?,
            () = connection.broken(Side::Caller).cancelled() => return Err(Status::unavailable("the connection broke")),
        };
        Ok(answer.map(|()| IncomingBody::body(response_frames, &connection, Side::Caller, Some(cancelling))))
    }
}

/// A call as received by the server.
pub struct Called {
    connection: Arc<Connection>,
    parts: http::request::Parts,
    request_frames: UnboundedReceiver<BodyFrame>,
    head_sender: oneshot::Sender<Response<()>>,
    response_sender: UnboundedSender<BodyFrame>,
    handler: Handler,
}

impl Called {
    /// The called host.
    #[must_use]
    pub fn host(&self) -> HostId {
        self.connection.called
    }

    /// Serves the call. Must run in the context of the called host.
    pub fn serve(self, context: HostContext, mut routes: tonic::service::Routes) {
        let Self { connection, parts, request_frames, head_sender, response_sender, handler } = self;
        let broken = connection.broken(Side::Called).clone();
        let handling = async move {
            let body = IncomingBody::body(request_frames, &connection, Side::Called, None);
            let Ok(answer) = routes.call(Request::from_parts(parts, body)).await;
            let (parts, body) = answer.into_parts();
            let head = Response::from_parts(parts, ());
            context.send(Route::Connection(connection.clone(), Side::Called), move |_| drop(head_sender.send(head)));
            send_body(context, connection, Side::Called, body, response_sender).await;
        };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = broken.cancelled() => {}
                () = handling => {}
            }
        });
        *handler.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
    }
}

/// Sends a body, frame by frame.
async fn send_body(
    context: HostContext,
    connection: Arc<Connection>,
    side: Side,
    mut body: Body,
    to: UnboundedSender<BodyFrame>,
) {
    let broken = connection.broken(side).clone();
    let parts = async {
        while let Some(part) = body.frame().await {
            let (to, ends) = (to.clone(), part.is_err());
            context.send(Route::Connection(connection.clone(), side), move |_| drop(to.unbounded_send(part)));
            if ends {
                return;
            }
        }
    };
    tokio::select! {
        () = broken.cancelled() => return,
        () = parts => {}
    }
    context.send(Route::Connection(connection, side), move |_| drop(to));
}

/// Abort handle of the task that serves a call, once the task has started.
#[derive(Clone, Default)]
struct Handler(Arc<Mutex<Option<AbortHandle>>>);

/// Aborts a call at the server when the client drops its response.
struct CancelOnDrop {
    context: HostContext,
    connection: Arc<Connection>,
    handler: Handler,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // A host that is being dropped has no clock any more.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let handler = self.handler.clone();
        self.context.send(Route::Connection(self.connection.clone(), Side::Caller), move |_| {
            if let Some(task) = handler.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
                task.abort();
            }
        });
    }
}

/// An incoming body, which ends when the connection breaks.
struct IncomingBody {
    parts: UnboundedReceiver<BodyFrame>,
    broken: BoxFuture<'static, ()>,
    /// Dropped when the reader drops the body.
    _cancelling: Option<CancelOnDrop>,
}

impl IncomingBody {
    /// The body that this side of a connection receives.
    fn body(
        parts: UnboundedReceiver<BodyFrame>,
        connection: &Connection,
        side: Side,
        cancelling: Option<CancelOnDrop>,
    ) -> Body {
        let broken = connection.broken(side).clone().cancelled_owned().boxed();
        Body::new(Self { parts, broken, _cancelling: cancelling })
    }
}

impl http_body::Body for IncomingBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<BodyFrame>> {
        let Self { parts, broken, .. } = &mut *self;
        match parts.poll_next_unpin(context) {
            Poll::Ready(part) => Poll::Ready(part),
            Poll::Pending => {
                broken.poll_unpin(context).map(|()| Some(Err(Status::unavailable("the connection broke"))))
            }
        }
    }
}
