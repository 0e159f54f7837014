//! Links between the servers of one process, on which a test can hold up messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tenure_core::ServerId;
use tenure_server::node::Node;
use tenure_server::sequencer::passing::{Giver, Heard, Linking, Pass, Peers, Word};
use tokio::sync::{mpsc, watch};

#[derive(Default)]
pub struct LabPeers {
    nodes: Mutex<HashMap<ServerId, Arc<Node>>>,
    holds: Arc<Holds>,
}

#[derive(Default)]
struct Holds {
    passes: watch::Sender<bool>,
    news: watch::Sender<bool>,
    /// The numbers of passes that have arrived and that are in flight.
    arrived: watch::Sender<usize>,
    sent: watch::Sender<usize>,
}

async fn free(hold: &watch::Sender<bool>) {
    let _ = hold.subscribe().wait_for(|held| !held).await;
}

impl LabPeers {
    pub fn add(&self, node: &Arc<Node>) {
        self.nodes.lock().expect("whole").insert(node.id, node.clone());
    }

    /// Holds up passes from now on, or releases them, even if no caller waits for them any more.
    pub fn hold_passes(&self, hold: bool) {
        self.holds.passes.send_replace(hold);
    }

    /// Holds up the notices to followers from now on, or releases them.
    pub fn hold_news(&self, hold: bool) {
        self.holds.news.send_replace(hold);
    }

    /// The number of passes sent.
    pub fn sent(&self) -> usize {
        *self.holds.sent.borrow()
    }

    /// The number of passes that have arrived.
    pub fn arrived(&self) -> usize {
        *self.holds.arrived.borrow()
    }
}

impl Peers for LabPeers {
    fn link(&self, linking: Linking) -> Box<dyn Giver> {
        let Linking { from, to, namespace, link, heard, .. } = linking;
        let (giver, mut passes) = mpsc::unbounded_channel();
        let node = self.nodes.lock().expect("whole").get(&to).cloned();
        let holds = self.holds.clone();
        tokio::spawn(async move {
            let Some(node) = node.filter(|node| !node.cancel.is_cancelled()) else {
                let _ = heard.send(Heard { link, word: Word::Broken }).await;
                return;
            };
            let namespace = node.namespaces.get(&namespace).await.expect("open");
            let Ok(mut news) = namespace.follow(from).await else { return };
            let _ = heard.send(Heard { link, word: Word::Open }).await;
            let held = holds.clone();
            tokio::spawn(async move {
                while let Some(pass) = passes.recv().await {
                    held.sent.send_modify(|sent| *sent += 1);
                    free(&held.passes).await;
                    let _ = namespace.take(from, pass).await;
                    held.arrived.send_modify(|arrived| *arrived += 1);
                }
            });
            while let Some(news) = news.recv().await {
                free(&holds.news).await;
                if heard.send(Heard { link, word: Word::News(news) }).await.is_err() {
                    return;
                }
            }
            let _ = heard.send(Heard { link, word: Word::Broken }).await;
        });
        Box::new(LabGiver(giver))
    }
}

struct LabGiver(mpsc::UnboundedSender<Pass>);

impl Giver for LabGiver {
    fn give(&self, pass: Pass) -> bool {
        self.0.send(pass).is_ok()
    }
}
