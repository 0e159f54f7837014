//! Hearing from the server that was passed to.

use tenure_core::{Revision, ServerId};

use super::replay::Due;
use super::{Given, Heard, News, Verdict, Word};
use crate::sequencer::run::Sequencer;

impl Sequencer {
    /// Takes note of a word of a link.
    pub(in crate::sequencer) async fn hear(&mut self, heard: Heard) {
        let mut links = self.passing.links.iter_mut();
        let Some((&server, link)) = links.find(|(_, link)| link.number == heard.link) else { return };
        match heard.word {
            Word::Open => link.is_open = true,
            Word::Broken => {
                self.passing.shun(server);
                if self.passing.given_to == server {
                    self.passing.take_back();
                }
            }
            Word::News(news) => self.hear_news(server, news).await,
        }
    }

    async fn hear_news(&mut self, server: ServerId, news: News) {
        let News { batch, verdicts, rows, .. } = news;
        if rows <= self.replica.table.revision() {
            self.replica.rows.saved(rows);
        }
        let mut due = Vec::new();
        let mut all_decided = true;
        if self.passing.given_to == server {
            for verdict in verdicts {
                match self.judged(verdict) {
                    Some(judged) => due.push(judged),
                    None => all_decided = false,
                }
            }
        }
        match batch.as_ref().and_then(|report| report.batch_after(&self.replica.table)) {
            Some(batch) => self.replay(batch, due),
            None => self.conclude_late(batch.map(|report| report.revision()), due).await,
        }
        if !all_decided {
            self.passing.take_back();
        }
    }

    /// The pass that a verdict is about, if it was decided and is the next in order.
    fn judged(&mut self, verdict: Verdict) -> Option<Due> {
        let places = verdict.decided?;
        let next = self.passing.given.front()?;
        if next.number != verdict.number || next.work.requests.len() != places.len() {
            return None;
        }
        let Given { work, .. } = self.passing.given.pop_front()?;
        Some(Due { work, places, at: verdict.at })
    }

    /// Comes to an end with what was decided by a batch that cannot be followed event by event.
    async fn conclude_late(&mut self, told: Option<Revision>, due: Vec<Due>) {
        let wanted = told.max(due.iter().map(|due| due.at).max()).unwrap_or(Revision(0));
        if wanted > self.replica.table.revision() {
            self.try_catch_up().await;
        }
        let shown = self.replica.table.revision() >= wanted;
        for due in due {
            if shown && self.passing.owed.is_none() {
                self.decide_late(due.work);
            } else {
                self.passing.unsettled |= !shown;
                self.passing.owe(due.work);
            }
        }
        if self.passing.owed.is_some() {
            // What came after it must not go before it.
            self.passing.take_back();
        }
    }
}
