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
use crate::host::{Here, HostId};
use crate::network::{Cable, Side};
use crate::outbox::{Sent, Way};
use crate::world::World;

/// Port of every host; the host number is the last part of the address.
const PORT: u16 = 7420;

/// Connect timeout.
const CONNECTING: Duration = Duration::from_secs(2);

/// Address of a host's services.
#[must_use]
pub fn address(host: HostId) -> String {
    format!("10.0.0.{host}:{PORT}")
}

fn host_at(address: &str) -> Option<HostId> {
    address.strip_suffix(&format!(":{PORT}"))?.strip_prefix("10.0.0.")?.parse().ok()
}

impl Here {
    fn send(&self, way: Way, action: impl FnOnce(&mut World) + Send + 'static) {
        self.outbox.send(Sent { at: self.time.now(), from: self.host, way, action: Box::new(action) });
    }

    /// Connects to a host.
    async fn dial(&self, address: &str) -> Result<Arc<Cable>, String> {
        let to = host_at(address).ok_or("no such address")?;
        let (reply, connected) = oneshot::channel();
        let (from, run, outbox) = (self.host, self.run, self.outbox.clone());
        self.send(Way::Host(to), move |world| {
            let cable = world.connect(from, run, to);
            let action = move |_: &mut World| drop(reply.send(cable));
            outbox.send(Sent { at: world.now(), from: to, way: Way::Host(from), action: Box::new(action) });
        });
        match tokio::time::timeout(CONNECTING, connected).await {
            Ok(Ok(Some(cable))) => Ok(cable),
            Ok(_) => Err("connection refused".to_owned()),
            Err(_) => Err("connection timed out".to_owned()),
        }
    }
}

/// Opens connections from a host.
#[derive(Clone)]
pub struct Dialler {
    here: Here,
    /// Alters what clients send and receive, if the world has a defect.
    proxy: Option<Arc<Proxy>>,
}

impl Dialler {
    /// Opens connections from this host.
    #[must_use]
    pub fn new(here: Here) -> Self {
        let proxy = here.defect.map(|defect| Arc::new(Proxy::new(defect)));
        Self { here, proxy }
    }
}

impl client::Connector for Dialler {
    fn connect(&self, server: &tonic::transport::Uri) -> BoxFuture<'static, Result<client::Wire, String>> {
        let (Self { here, proxy }, address) =
            (self.clone(), server.authority().map(ToString::to_string).unwrap_or_default());
        async move {
            let cable = here.dial(&address).await?;
            let call = move |request| call(here.clone(), cable.clone(), request);
            Ok(match proxy {
                None => client::Wire::new(service_fn(call)),
                Some(proxy) => client::Wire::new(service_fn(move |request| proxy.clone().pass(request, call.clone()))),
            })
        }
        .boxed()
    }
}

impl peer::Connector for Dialler {
    fn connect(&self, member: &MemberView) -> Result<peer::Wire, String> {
        let line = Line { here: self.here.clone(), address: member.address.clone(), cable: Arc::default() };
        Ok(peer::Wire::new(service_fn(move |request| line.clone().call(request))))
    }
}

/// A lazily opened connection.
#[derive(Clone)]
struct Line {
    here: Here,
    address: String,
    cable: Arc<tokio::sync::Mutex<Option<Arc<Cable>>>>,
}

impl Line {
    async fn call(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let cable = {
            let mut cable = self.cable.lock().await;
            match cable.as_ref().filter(|cable| !cable.broken(Side::Caller).is_cancelled()) {
                Some(cable) => cable.clone(),
                None => cable.insert(self.here.dial(&self.address).await.map_err(Status::unavailable)?).clone(),
            }
        };
        call(self.here, cable, request).await
    }
}

type Parts = Result<Frame<Bytes>, Status>;

/// Sends a call over a connection. The request is sent at once, before the returned future is polled.
fn call(
    here: Here,
    cable: Arc<Cable>,
    request: Request<Body>,
) -> impl Future<Output = Result<Response<Body>, Status>> + Send {
    let (parts, body) = request.into_parts();
    let (asks, asked) = unbounded();
    let (answers, answered) = unbounded();
    let (head, has_head) = oneshot::channel();
    let handler = Handler::default();
    let called = Called { cable: cable.clone(), parts, asked, head, answers, handler: handler.clone() };
    here.send(Way::Cable(cable.clone(), Side::Caller), move |world| world.serve(called));
    tokio::spawn(pump(here.clone(), cable.clone(), Side::Caller, body, asks));
    let cancelling = Cancelling { here, cable: cable.clone(), handler };
    async move {
        let answer = tokio::select! {
            head = has_head => head.map_err(|_| Status::unavailable("the call was cut off"))?,
            () = cable.broken(Side::Caller).cancelled() => return Err(Status::unavailable("the connection broke")),
        };
        Ok(answer.map(|()| Arriving::body(answered, &cable, Side::Caller, Some(cancelling))))
    }
}

/// A call as received by the server.
pub struct Called {
    cable: Arc<Cable>,
    parts: http::request::Parts,
    asked: UnboundedReceiver<Parts>,
    head: oneshot::Sender<Response<()>>,
    answers: UnboundedSender<Parts>,
    handler: Handler,
}

impl Called {
    /// The called host.
    #[must_use]
    pub fn host(&self) -> HostId {
        self.cable.called
    }

    /// Serves the call. Must run in the context of the called host.
    pub fn serve(self, here: Here, mut routes: tonic::service::Routes) {
        let Self { cable, parts, asked, head, answers, handler } = self;
        let broken = cable.broken(Side::Called).clone();
        let carried_out = async move {
            let body = Arriving::body(asked, &cable, Side::Called, None);
            let Ok(answer) = routes.call(Request::from_parts(parts, body)).await;
            let (parts, body) = answer.into_parts();
            let told = Response::from_parts(parts, ());
            here.send(Way::Cable(cable.clone(), Side::Called), move |_| drop(head.send(told)));
            pump(here, cable, Side::Called, body, answers).await;
        };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = broken.cancelled() => {}
                () = carried_out => {}
            }
        });
        *handler.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
    }
}

/// Sends a body, frame by frame.
async fn pump(here: Here, cable: Arc<Cable>, side: Side, mut body: Body, to: UnboundedSender<Parts>) {
    let broken = cable.broken(side).clone();
    let parts = async {
        while let Some(part) = body.frame().await {
            let (to, ends) = (to.clone(), part.is_err());
            here.send(Way::Cable(cable.clone(), side), move |_| drop(to.unbounded_send(part)));
            if ends {
                return;
            }
        }
    };
    tokio::select! {
        () = broken.cancelled() => return,
        () = parts => {}
    }
    here.send(Way::Cable(cable, side), move |_| drop(to));
}

/// Abort handle of the task that serves a call, once the task has started.
#[derive(Clone, Default)]
struct Handler(Arc<Mutex<Option<AbortHandle>>>);

/// Aborts a call at the server when the client drops its response.
struct Cancelling {
    here: Here,
    cable: Arc<Cable>,
    handler: Handler,
}

impl Drop for Cancelling {
    fn drop(&mut self) {
        // A host that is being dropped has no clock any more.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let handler = self.handler.clone();
        self.here.send(Way::Cable(self.cable.clone(), Side::Caller), move |_| {
            if let Some(task) = handler.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
                task.abort();
            }
        });
    }
}

/// An incoming body, which ends when the connection breaks.
struct Arriving {
    parts: UnboundedReceiver<Parts>,
    broken: BoxFuture<'static, ()>,
    /// Dropped when the reader drops the body.
    _cancelling: Option<Cancelling>,
}

impl Arriving {
    /// The body that this side of a connection receives.
    fn body(parts: UnboundedReceiver<Parts>, cable: &Cable, side: Side, cancelling: Option<Cancelling>) -> Body {
        let broken = cable.broken(side).clone().cancelled_owned().boxed();
        Body::new(Self { parts, broken, _cancelling: cancelling })
    }
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Parts>> {
        let Self { parts, broken, .. } = &mut *self;
        match parts.poll_next_unpin(context) {
            Poll::Ready(part) => Poll::Ready(part),
            Poll::Pending => {
                broken.poll_unpin(context).map(|()| Some(Err(Status::unavailable("the connection broke"))))
            }
        }
    }
}
