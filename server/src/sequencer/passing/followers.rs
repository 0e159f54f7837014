//! Those who follow this server: they are told of every batch that it commits.

use std::sync::Arc;

use tenure_core::{Revision, ServerId};
use tokio::sync::mpsc;

use super::{News, Report, Taken, Verdict};
use crate::store::Batch;

/// How many news wait for a follower before it is let go: then it reads the store.
const NEWS: usize = 256;

/// A server that follows.
struct Follower {
    server: ServerId,
    news: mpsc::Sender<News>,
}

#[derive(Default)]
pub(in crate::sequencer) struct Followers(Vec<Follower>);

impl Followers {
    /// One more, in place of an earlier link of the same server.
    pub(in crate::sequencer) fn add(&mut self, server: ServerId) -> mpsc::Receiver<News> {
        let (news, told) = mpsc::channel(NEWS);
        self.0.retain(|follower| follower.server != server);
        self.0.push(Follower { server, news });
        told
    }

    /// Lets all go: they have to look for themselves.
    pub(in crate::sequencer) fn let_go(&mut self) {
        self.0.clear();
    }

    /// Whether this server follows.
    pub(in crate::sequencer) fn include(&self, server: ServerId) -> bool {
        self.0.iter().any(|follower| follower.server == server && !follower.news.is_closed())
    }

    /// Tells of a committed batch, and of what came of passes, with the table and the rows at these revisions.
    pub(in crate::sequencer) fn notify(
        &mut self,
        batch: Option<&Arc<Batch>>,
        taken: &[Taken],
        at: Revision,
        rows: Revision,
    ) {
        let report = batch.map(|batch| Report::Whole(Arc::clone(batch)));
        let packed = Arc::default();
        self.0.retain(|follower| {
            let own = taken.iter().filter(|taken| taken.server == follower.server);
            let verdicts: Vec<Verdict> = own.map(|taken| taken.verdict(at)).collect();
            if batch.is_none() && verdicts.is_empty() {
                return true;
            }
            follower.news.try_send(News { batch: report.clone(), verdicts, rows, packed: Arc::clone(&packed) }).is_ok()
        });
    }
}
