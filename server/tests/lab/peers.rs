//! Links between the servers of one process, on which a test can delay messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tenure_core::ServerId;
use tenure_server::node::Node;
use tenure_server::sequencer::forwarding::{Forward, LinkEvent, LinkRequest, Peers};
use tokio::sync::{mpsc, watch};

#[derive(Default)]
pub struct LabPeers {
    nodes: Mutex<HashMap<ServerId, Arc<Node>>>,
    delays: Arc<Delays>,
}

#[derive(Default)]
struct Delays {
    forwards: watch::Sender<bool>,
    notices: watch::Sender<bool>,
    /// The numbers of forwards that were sent, and that have arrived.
    sent: watch::Sender<usize>,
    arrived: watch::Sender<usize>,
}

async fn released(delay: &watch::Sender<bool>) {
    let _ = delay.subscribe().wait_for(|delayed| !delayed).await;
}

impl LabPeers {
    pub fn add(&self, node: &Arc<Node>) {
        self.nodes.lock().expect("whole").insert(node.id, node.clone());
    }

    /// Delays forwards from now on, or delivers them, even if no caller waits for them any more.
    pub fn delay_forwards(&self, delay: bool) {
        self.delays.forwards.send_replace(delay);
    }

    /// Delays the notices to followers from now on, or delivers them.
    pub fn delay_notices(&self, delay: bool) {
        self.delays.notices.send_replace(delay);
    }

    /// The number of forwards sent.
    pub fn sent(&self) -> usize {
        *self.delays.sent.borrow()
    }

    /// The number of forwards that have arrived.
    pub fn arrived(&self) -> usize {
        *self.delays.arrived.borrow()
    }
}

impl Peers for LabPeers {
    fn link(&self, request: LinkRequest) -> mpsc::Sender<Forward> {
        let LinkRequest { from, to, namespace, number, events, .. } = request;
        let (sender, mut forwards) = mpsc::channel::<Forward>(8);
        let node = self.nodes.lock().expect("whole").get(&to).cloned();
        let delays = self.delays.clone();
        tokio::spawn(async move {
            let Some(node) = node.filter(|node| !node.cancel.is_cancelled()) else {
                let _ = events.send((number, LinkEvent::Closed)).await;
                return;
            };
            let namespace = node.namespaces.get(&namespace).await.expect("open");
            let Ok(mut notices) = namespace.follow(from, number).await else { return };
            let _ = events.send((number, LinkEvent::Open)).await;
            let delayed = delays.clone();
            tokio::spawn(async move {
                while let Some(forward) = forwards.recv().await {
                    delayed.sent.send_modify(|sent| *sent += 1);
                    released(&delayed.forwards).await;
                    let _ = namespace.forward(from, forward).await;
                    delayed.arrived.send_modify(|arrived| *arrived += 1);
                }
            });
            while let Some(notice) = notices.recv().await {
                released(&delays.notices).await;
                if events.send((number, LinkEvent::Notice(notice))).await.is_err() {
                    return;
                }
            }
            let _ = events.send((number, LinkEvent::Closed)).await;
        });
        sender
    }
}
