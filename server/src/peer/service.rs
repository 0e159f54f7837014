//! The service that other servers call.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use tenure_core::ServerId;
use tenure_proto::internal::peer_service_server::{PeerService, PeerServiceServer};
use tenure_proto::internal::{ForwardRequest, ForwardResponse};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::message::{decode_forward, encode_notice};
use crate::grpc::Api;
use crate::limits::MESSAGE;
use crate::node::Node;
use crate::transport::Peer;

/// How long the greeting may take.
const GREETING: Duration = Duration::from_secs(2);

/// The implementation of the service.
pub(crate) struct PeerCalls(Api);

impl PeerCalls {
    pub(crate) fn server(api: Api) -> PeerServiceServer<Self> {
        PeerServiceServer::new(Self(api)).max_decoding_message_size(MESSAGE)
    }
}

#[tonic::async_trait]
impl PeerService for PeerCalls {
    type ForwardStream = Pin<Box<dyn Stream<Item = Result<ForwardResponse, Status>> + Send>>;

    async fn forward(
        &self,
        request: Request<Streaming<ForwardRequest>>,
    ) -> Result<Response<Self::ForwardStream>, Status> {
        let certificate = request.extensions().get::<Arc<Peer>>().and_then(|peer| peer.server.clone());
        let mut requests = request.into_inner();
        let first = timeout(GREETING, requests.message())
            .await
            .map_err(|_| Status::failed_precondition("no first message"))??;
        let greeting = first.and_then(|first| first.greeting);
        let greeting = greeting.ok_or_else(|| Status::failed_precondition("the first message must be a greeting"))?;
        let node = self.0.current_node().ok_or_else(|| Status::unavailable("this server has not registered yet"))?;
        let from = ServerId(greeting.from);
        if greeting.to != node.id.0 {
            return Err(Status::failed_precondition("the greeting is for another server"));
        }
        check_server(&node, from, certificate)?;
        // A peer creates no namespace.
        let open = node.namespaces.all().into_iter().find(|open| **open.name() == *greeting.namespace);
        let namespace = open.ok_or_else(|| Status::unavailable("the namespace is not open at this server"))?;
        let notices = namespace.follow(from, greeting.link).await.map_err(|_| Status::unavailable("shutting down"))?;
        let (end, ended) = oneshot::channel::<()>();
        node.tasks.spawn(async move {
            // Dropped when this task ends, which closes the link: the other server has closed it, or sent something
            // unreadable.
            let _end = end;
            while let Some(Ok(request)) = requests.next().await {
                let Ok(forward) = decode_forward(&request, from) else { break };
                if namespace.forward(from, forward).await.is_err() {
                    break;
                }
            }
        });
        let notices = ReceiverStream::new(notices).map(|notice| Ok(encode_notice(&notice)));
        Ok(Response::new(Box::pin(notices.take_until(ended))))
    }
}

/// Checks that the caller is this server, and live. With TLS, it has proved which server it is; without, any caller is
/// believed.
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
