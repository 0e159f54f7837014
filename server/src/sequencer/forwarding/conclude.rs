//! At the server that forwards: notices of the writer, and replies to the callers.

use tenure_core::ServerId;

use super::{CommitNotice, ForwardResult, LinkEvent};
use crate::sequencer::run::Sequencer;
use crate::sequencer::work::Work;

impl Sequencer {
    /// Handles an event of the link with this number.
    pub(in crate::sequencer) async fn on_link_event(&mut self, number: u64, event: LinkEvent) {
        let mut links = self.forwarder.links.iter_mut();
        let Some((&server, link)) = links.find(|(_, link)| link.number == number) else { return };
        match event {
            LinkEvent::Open => link.is_open = true,
            LinkEvent::Closed => {
                self.forwarder.suspend(server);
                if self.forwarder.target == server {
                    self.forwarder.take_back();
                }
            }
            LinkEvent::Notice(notice) => self.on_notice(server, notice).await,
        }
    }

    async fn on_notice(&mut self, server: ServerId, notice: CommitNotice) {
        let CommitNotice { batch, results, at, rows, is_shared, .. } = notice;
        if rows <= self.revision() {
            self.replica.rows.saved(rows);
        }
        match batch.filter(|batch| batch.previous == self.revision() && !batch.declares_loss()) {
            Some(batch) => self.replica.apply(batch),
            None if at > self.revision() => self.try_catch_up().await,
            None => {}
        }
        self.forwarder.alone = if is_shared || results.is_empty() { 0 } else { self.forwarder.alone + 1 };
        for ForwardResult { number, is_decided } in results {
            let is_next = self.forwarder.in_flight.front().is_some_and(|first| first.number == number);
            if self.forwarder.target != server || !is_next {
                continue;
            }
            // Without the revision at which it was decided, the table may not show its effects yet.
            if is_decided
                && self.revision() >= at
                && let Some(decided) = self.forwarder.in_flight.pop_front()
            {
                self.conclude(decided.work);
            } else {
                self.forwarder.take_back();
            }
        }
    }

    /// Replies to work that the writer has decided, by deciding it again on a table that shows the effects. What yields
    /// events now is decided in this server's next batch, before everything that came after it.
    fn conclude(&mut self, work: Work) {
        let mut events = Vec::new();
        let decisions = self.decide_all(&work, &mut events);
        if events.is_empty() {
            self.replica.table.commit();
            self.reply_without_events(work, decisions);
        } else {
            self.replica.table.undo();
            self.forwarder.return_work(work);
            self.forwarder.take_back();
        }
    }
}
