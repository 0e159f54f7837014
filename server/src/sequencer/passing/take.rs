//! Taking what others pass: when it may be decided.

use opentelemetry::Context;
use tenure_core::{Request, Revision, ServerId};

use super::{LongestPauses, Pass, Verdict};
use crate::sequencer::run::Sequencer;
use crate::sequencer::spans;
use crate::sequencer::work::{Source, Work};
use crate::store::StoreError;

/// A pass that is part of this server's work.
pub(in crate::sequencer) struct Taken {
    pub(super) server: ServerId,
    number: u64,
    after: Revision,
    pub(super) pauses: LongestPauses,
    refused: bool,
    /// The revision that each command was decided at.
    pub(in crate::sequencer) places: Vec<Revision>,
}

impl Taken {
    /// A pass of this server, and its commands.
    pub(in crate::sequencer) fn new(server: ServerId, pass: Pass) -> (Self, Vec<(Request, Context)>) {
        let Pass { number, after, requests, pauses, traces } = pass;
        let mut requests: Vec<_> = requests.into_iter().map(|request| (request, Context::new())).collect();
        for (place, traceparent) in traces {
            if let Some((_, span)) = requests.get_mut(place) {
                *span = spans::forwarded(server, &traceparent);
            }
        }
        (Self { server, number, after, pauses, refused: false, places: Vec::new() }, requests)
    }

    pub(in crate::sequencer) fn refuse(&mut self) {
        self.refused = true;
    }

    /// What came of it, with the table at this revision.
    pub(super) fn verdict(&self, at: Revision) -> Verdict {
        Verdict { number: self.number, decided: (!self.refused).then(|| self.places.clone()), at }
    }
}

impl Sequencer {
    /// Takes out of the work what may not be decided on the table as it is.
    pub(in crate::sequencer) async fn admit(&mut self, work: &mut Work) -> Result<(), StoreError> {
        if work.taken.is_empty() {
            return Ok(());
        }
        if work.taken.iter().any(|taken| !taken.refused && taken.after > self.replica.table.revision()) {
            self.catch_up().await?;
        }
        let has_lease = self.settings.lease.tick().is_some();
        for taken in work.taken.iter_mut().filter(|taken| !taken.refused) {
            let allowed = has_lease
                && self.settings.membership.member(taken.server).is_some()
                && self.replica.has_nothing_of(taken.server, taken.after);
            taken.refused = !allowed;
        }
        let refused: Vec<bool> = work.taken.iter().map(|taken| taken.refused).collect();
        if refused.contains(&true) {
            work.requests.retain(|(_, source)| !matches!(source, Source::Peer(place, _) if refused[*place]));
        }
        Ok(())
    }
}
