//! Links to other servers, on one connection to each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::{ServerId, Text};
use tenure_proto::internal::peer_service_client::PeerServiceClient;
use tenure_proto::internal::{Begin, PassRequest, PassResponse, pass_request};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Streaming;

use super::connector::{Connector, Wire};
use super::wire;
use crate::cluster::membership::MemberView;
use crate::limits::MESSAGE;
use crate::sequencer::passing::{Giver, Heard, Linking, Pass, Peers, Word};

/// How long it may take to reach another server, and to be admitted there.
pub(super) const REACHING: Duration = Duration::from_secs(2);

/// How many messages wait to be sent.
const MESSAGES: usize = 8;

/// The connections of this server to others.
pub struct Links {
    connector: Arc<dyn Connector>,
    wires: Mutex<HashMap<(ServerId, MemberView), Wire>>,
}

impl Peers for Links {
    fn link(&self, linking: Linking) -> Box<dyn Giver> {
        let wire = self.wire(linking.to, &linking.member);
        let begin = Begin { from: linking.from.0, to: linking.to.0, namespace: linking.namespace.to_string() };
        let (requests, to_send) = mpsc::channel(MESSAGES);
        // There is room for the first one.
        let _ = requests.try_send(PassRequest { kind: Some(pass_request::Kind::Begin(begin)) });
        let open = CancellationToken::new();
        let ended = open.clone();
        tokio::spawn(async move {
            let (heard, link) = (linking.heard.clone(), linking.link);
            tokio::select! {
                () = ended.cancelled() => return,
                end = run(linking, wire, to_send) => if let Err(reason) = end {
                    tracing::debug!(reason, "cannot connect to another server");
                }
            }
            // If nobody listens, nobody needs to know.
            let _ = heard.send(Heard { link, word: Word::Broken }).await;
        });
        Box::new(Sending { requests, _open: open.drop_guard() })
    }
}

impl Links {
    /// No connections yet.
    #[must_use]
    pub fn new(connector: Arc<dyn Connector>) -> Self {
        Self { connector, wires: Mutex::default() }
    }

    /// The connection to a server, which is made when it is needed. Those to others at the same address are gone for good.
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

/// The end of a link where passes are given.
struct Sending {
    requests: mpsc::Sender<PassRequest>,
    _open: DropGuard,
}

impl Giver for Sending {
    fn give(&self, pass: Pass) -> bool {
        let Some(pass) = wire::pass(&pass) else { return false };
        self.requests.try_send(PassRequest { kind: Some(pass_request::Kind::Pass(pass)) }).is_ok()
    }
}

/// Runs a link to its end.
async fn run(linking: Linking, wire: Result<Wire, String>, to_send: mpsc::Receiver<PassRequest>) -> Result<(), String> {
    let Linking { to, namespace, link, heard, .. } = linking;
    let mut client = PeerServiceClient::new(wire?).max_decoding_message_size(MESSAGE);
    let admitted = async {
        let mut told = client.pass(ReceiverStream::new(to_send)).await?.into_inner();
        told.message().await.map(|first| (first.is_some(), told))
    };
    let (is_admitted, mut told) = timeout(REACHING, admitted)
        .await
        .map_err(|_| "no reply".to_owned())?
        .map_err(|status| status.message().to_owned())?;
    let opened = Heard { link, word: Word::Open };
    if !is_admitted || heard.send(opened).await.is_err() {
        return Ok(());
    }
    relay(&mut told, to, &namespace, link, &heard).await
}

/// Hands over what is told.
async fn relay(
    told: &mut Streaming<PassResponse>,
    to: ServerId,
    namespace: &Text,
    link: u64,
    heard: &mpsc::Sender<Heard>,
) -> Result<(), String> {
    while let Some(response) = told.next().await {
        let response = response.map_err(|status| status.message().to_owned())?;
        let news = wire::news(response, to, namespace)?;
        if heard.send(Heard { link, word: Word::News(news) }).await.is_err() {
            break;
        }
    }
    Ok(())
}
