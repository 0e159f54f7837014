//! Links to other servers: one call for each namespace, on one connection to each server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream;
use tenure_core::ServerId;
use tenure_proto::internal::peer_service_client::PeerServiceClient;
use tenure_proto::internal::{ForwardRequest, Greeting};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::connector::{Connector, Wire};
use super::message::{decode_notice, encode_forward};
use crate::cluster::membership::MemberView;
use crate::limits::MESSAGE;
use crate::sequencer::forwarding::{Forward, LinkEvent, LinkRequest, Peers};

/// How long it may take to reach another server, and to be admitted there.
pub(super) const REACHING: Duration = Duration::from_secs(2);

/// How many forwards wait to be sent: more than are in flight.
const FORWARDS: usize = 8;

/// The connections of this server to others.
pub struct Links {
    connector: Arc<dyn Connector>,
    wires: Mutex<HashMap<(ServerId, MemberView), Wire>>,
}

impl Peers for Links {
    fn link(&self, request: LinkRequest) -> mpsc::Sender<Forward> {
        let wire = self.wire(request.to, &request.member);
        let (forwards, to_send) = mpsc::channel(FORWARDS);
        tokio::spawn(async move {
            let (number, events) = (request.number, request.events.clone());
            if let Err(reason) = run(request, wire, to_send).await {
                tracing::debug!(reason, "a link to another server has failed");
            }
            // If the receiver is gone, the event is not needed.
            let _ = events.send((number, LinkEvent::Closed)).await;
        });
        forwards
    }
}

impl Links {
    /// No connections yet.
    #[must_use]
    pub fn new(connector: Arc<dyn Connector>) -> Self {
        Self { connector, wires: Mutex::default() }
    }

    /// The connection to a server, made when it is first used. Connections to other servers at the same address are
    /// obsolete.
    pub(super) fn wire(&self, to: ServerId, member: &MemberView) -> Result<Wire, String> {
        let mut wires = self.wires.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wire) = wires.get(&(to, member.clone())) {
            return Ok(wire.clone());
        }
        let wire = self.connector.connect(member)?;
        wires.retain(|(server, other), _| *server != to && other.address != member.address);
        wires.insert((to, member.clone()), wire.clone());
        Ok(wire)
    }
}

/// The first message of a link.
pub(super) fn greeting(from: ServerId, to: ServerId, namespace: &str, link: u64) -> ForwardRequest {
    let greeting = Greeting { from: from.0, to: to.0, namespace: namespace.to_owned(), link };
    ForwardRequest { greeting: Some(greeting), forward: Vec::new() }
}

/// Runs a link until it closes, which it does when the sender of `forwards` is dropped.
async fn run(
    request: LinkRequest,
    wire: Result<Wire, String>,
    forwards: mpsc::Receiver<Forward>,
) -> Result<(), String> {
    let LinkRequest { from, to, namespace, number, events, .. } = request;
    let first = stream::iter([greeting(from, to, &namespace, number)]);
    let messages = first.chain(ReceiverStream::new(forwards).map(|forward| encode_forward(&forward)));
    let mut client = PeerServiceClient::new(wire?).max_decoding_message_size(MESSAGE);
    let admitted = timeout(REACHING, client.forward(messages)).await.map_err(|_| "no reply".to_owned())?;
    let mut notices = admitted.map_err(|status| status.message().to_owned())?.into_inner();
    if events.send((number, LinkEvent::Open)).await.is_err() {
        return Ok(());
    }
    while let Some(notice) = notices.next().await {
        let notice = notice.map_err(|status| status.message().to_owned())?;
        let notice = decode_notice(notice, to, &namespace)?;
        if events.send((number, LinkEvent::Notice(notice))).await.is_err() {
            break;
        }
    }
    Ok(())
}
