//! At the server that forwards: notices of the writer, and replies to the callers.

use tenure_core::ServerId;

use super::{CommitNotice, LinkEvent};
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
                if self.forwarder.target() == Some(server) {
                    self.forwarder.take_back();
                }
            }
            LinkEvent::Notice(notice) => self.on_notice(server, notice).await,
        }
    }

    async fn on_notice(&mut self, server: ServerId, notice: CommitNotice) {
        let CommitNotice { batch, decided, rejected, at, rows, is_shared, .. } = notice;
        if rows <= self.revision() {
            self.replica.rows.saved(rows);
        }
        match batch.filter(|batch| batch.previous == self.revision() && !batch.declares_loss()) {
            Some(batch) => self.replica.apply(batch),
            None if at > self.revision() => self.try_catch_up().await,
            None => {}
        }
        self.forwarder.alone = if is_shared || decided.is_empty() { 0 } else { self.forwarder.alone + 1 };
        // Before that revision, the table may not show the effects.
        let is_shown = self.revision() >= at;
        let decided = decided.into_iter().map(|number| (number, is_shown));
        for (number, is_decided) in decided.chain(rejected.into_iter().map(|number| (number, false))) {
            let in_flight = &mut self.forwarder.in_flight;
            // Other numbers are of forwards that were taken back.
            let is_oldest = in_flight.front().is_some_and(|oldest| (oldest.target, oldest.number) == (server, number));
            if is_oldest
                && is_decided
                && let Some(oldest) = in_flight.pop_front()
            {
                self.conclude(oldest.work);
            } else if is_oldest {
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
