//! Followers: the servers that receive every batch that this one commits.

use std::sync::Arc;

use tenure_core::{Revision, ServerId};
use tokio::sync::mpsc;

use super::{Accepted, CommitNotice};
use crate::store::Batch;

/// How many notices wait for a follower before it is dropped: it then reads the store.
const NOTICES: usize = 256;

struct Follower {
    server: ServerId,
    notices: mpsc::Sender<CommitNotice>,
    /// The number of its last forward that was rejected, or of its link.
    rejected: u64,
}

#[derive(Default)]
pub(in crate::sequencer) struct Followers(Vec<Follower>);

impl Followers {
    /// Adds a server by its link with this number, in place of an earlier link.
    pub(in crate::sequencer) fn add(&mut self, server: ServerId, link: u64) -> mpsc::Receiver<CommitNotice> {
        let (notices, receiver) = mpsc::channel(NOTICES);
        self.0.retain(|follower| follower.server != server);
        self.0.push(Follower { server, notices, rejected: link });
        receiver
    }

    /// Whether this server follows.
    pub(in crate::sequencer) fn contains(&self, server: ServerId) -> bool {
        self.0.iter().any(|follower| follower.server == server && !follower.notices.is_closed())
    }

    /// Rejects a forward, and with it those that were sent while it was in flight.
    pub(in crate::sequencer) fn reject(&mut self, forward: &mut Accepted) {
        forward.is_rejected = true;
        for follower in self.0.iter_mut().filter(|follower| follower.server == forward.server) {
            follower.rejected = follower.rejected.max(forward.number);
        }
    }

    /// Whether all forwards that were in flight before this one were decided, on the current link of its server.
    pub(super) fn is_in_order(&self, forward: &Accepted) -> bool {
        self.0.iter().any(|follower| follower.server == forward.server && follower.rejected < forward.oldest)
    }

    /// Notifies of a committed batch, and of the results of forwards, which are final at revision `at`. `commands` is
    /// the number of all commands that were decided with them.
    pub(in crate::sequencer) fn notify(
        &mut self,
        batch: Option<&Arc<Batch>>,
        forwards: &[Accepted],
        commands: usize,
        at: Revision,
        rows: Revision,
    ) {
        let encoded = Arc::default();
        self.0.retain(|follower| {
            let (mut decided, mut rejected, mut own_commands) = (Vec::new(), Vec::new(), 0);
            for forward in forwards.iter().filter(|forward| forward.server == follower.server) {
                if forward.is_rejected { &mut rejected } else { &mut decided }.push(forward.number);
                own_commands += forward.commands;
            }
            if batch.is_none() && decided.is_empty() && rejected.is_empty() {
                return true;
            }
            let (batch, encoded, is_shared) = (batch.cloned(), Arc::clone(&encoded), own_commands < commands);
            follower.notices.try_send(CommitNotice { batch, encoded, decided, rejected, at, rows, is_shared }).is_ok()
        });
    }
}
