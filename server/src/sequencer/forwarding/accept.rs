//! At the writer: which forwards may be decided.

use std::time::Duration;

use opentelemetry::Context;
use tenure_core::{Request, Revision, ServerId};

use super::Forward;
use crate::sequencer::run::Sequencer;
use crate::sequencer::spans;
use crate::sequencer::work::{Source, Work};
use crate::store::StoreError;

/// A forward of another server that is part of this server's work.
pub(in crate::sequencer) struct Accepted {
    pub(super) server: ServerId,
    pub(super) number: u64,
    pub(super) oldest: u64,
    after: Revision,
    pub(super) commands: usize,
    pub(super) pauses: Vec<(Revision, Duration)>,
    pub(super) is_rejected: bool,
}

impl Accepted {
    /// A forward of this server, and its commands with their spans.
    pub(in crate::sequencer) fn new(server: ServerId, forward: Forward) -> (Self, Vec<(Request, Context)>) {
        let Forward { number, oldest, after, requests, pauses, traces } = forward;
        let commands = requests.len();
        let mut requests: Vec<_> = requests.into_iter().map(|request| (request, Context::new())).collect();
        for (index, traceparent) in traces {
            if let Some((_, span)) = requests.get_mut(index) {
                *span = spans::received(server, &traceparent);
            }
        }
        (Self { server, number, oldest, after, commands, pauses, is_rejected: false }, requests)
    }
}

impl Sequencer {
    /// Rejects forwards that may not be decided on the table as it is, and removes their commands from the work.
    pub(in crate::sequencer) async fn admit(&mut self, work: &mut Work) -> Result<(), StoreError> {
        if work.forwards.is_empty() {
            return Ok(());
        }
        if work.forwards.iter().any(|forward| forward.after > self.replica.table.revision()) {
            self.catch_up().await?;
        }
        let has_lease = self.settings.lease.tick().is_some();
        let followers = &mut self.forwarder.followers;
        for forward in work.forwards.iter_mut().filter(|forward| !forward.is_rejected) {
            let is_admitted = has_lease
                && self.settings.membership.member(forward.server).is_some()
                && self.replica.has_nothing_of(forward.server, forward.after)
                && followers.is_in_order(forward);
            if !is_admitted {
                followers.reject(forward);
            }
        }
        let forwards = &work.forwards;
        work.requests.retain(|(_, source)| !matches!(source, Source::Peer(index, _) if forwards[*index].is_rejected));
        Ok(())
    }
}
