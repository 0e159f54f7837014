//! Taking what other servers pass.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use tenure_core::ServerId;
use tenure_proto::internal::peer_service_server::{PeerService, PeerServiceServer};
use tenure_proto::internal::{PassRequest, PassResponse, pass_request};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::wire;
use crate::grpc::Api;
use crate::limits::MESSAGE;
use crate::node::Node;
use crate::sequencer::Namespace;
use crate::transport::Peer;

/// How long the first message may take.
const BEGIN: Duration = Duration::from_secs(2);

/// The service that other servers call.
pub(crate) struct PeerCalls(Api);

impl PeerCalls {
    pub(crate) fn server(api: Api) -> PeerServiceServer<Self> {
        PeerServiceServer::new(Self(api)).max_decoding_message_size(MESSAGE)
    }
}

#[tonic::async_trait]
impl PeerService for PeerCalls {
    type PassStream = Pin<Box<dyn Stream<Item = Result<PassResponse, Status>> + Send>>;

    async fn pass(&self, request: Request<Streaming<PassRequest>>) -> Result<Response<Self::PassStream>, Status> {
        let certificate = request.extensions().get::<Arc<Peer>>().and_then(|peer| peer.server.clone());
        let mut requests = request.into_inner();
        let begin = timeout(BEGIN, requests.message()).await.map_err(|_| refused("no first message"))??;
        let Some(PassRequest { kind: Some(pass_request::Kind::Begin(begin)) }) = begin else {
            return Err(refused("the first message must be a greeting"));
        };
        let node = self.0.current_node().ok_or_else(|| Status::unavailable("this server has not registered yet"))?;
        let from = ServerId(begin.from);
        if begin.to != node.id.0 {
            return Err(refused("the greeting is for another server"));
        }
        check_server(&node, from, certificate)?;
        let namespace = opened(&node, &begin.namespace)?;
        let draining = || Status::unavailable("this server is shutting down");
        let news = namespace.follow(from).await.map_err(|_| draining())?;
        let (end, ended) = oneshot::channel::<()>();
        let first = stream::iter([Ok(PassResponse::default())]);
        let told = first.chain(ReceiverStream::new(news).map(|news| Ok(wire::response(&news))));
        node.tasks.spawn(async move {
            // Dropped when this ends. What cannot be read ends the link; so does the other server.
            let _end = end;
            while let Some(Ok(PassRequest { kind: Some(pass_request::Kind::Pass(pass)) })) = requests.next().await {
                let Some(pass) = wire::taken(pass, from) else { break };
                if namespace.take(from, pass).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(Box::pin(told.take_until(ended))))
    }
}

/// Whether this server calls, and lives. Where servers speak TLS, it has proved that it is this one; where they do not, whoever can
/// reach them is taken for one.
fn check_server(node: &Node, from: ServerId, certificate: Option<String>) -> Result<(), Status> {
    let Some(member) = node.membership.member(from) else {
        return Err(Status::unavailable("not a live server, as far as this server knows"));
    };
    let must_prove = !node.options.certificate.is_empty();
    if must_prove && certificate.is_none_or(|certificate| certificate != member.certificate) {
        return Err(Status::permission_denied("the certificate is not that server's"));
    }
    Ok(())
}

/// A namespace that another server wants to pass in. None is made for it.
fn opened(node: &Arc<Node>, name: &str) -> Result<Namespace, Status> {
    let open = node.namespaces.all().into_iter().find(|namespace| **namespace.name() == *name);
    open.ok_or_else(|| Status::unavailable("the namespace is not open at this server"))
}

fn refused(why: &'static str) -> Status {
    Status::failed_precondition(why)
}
