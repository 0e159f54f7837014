//! At the server that forwards: which work is forwarded, and to which server.

use tenure_core::{Command, Request, ServerId};
use tokio::time::{Instant, timeout_at};

use super::{ALONE, Forward, IDLE, IN_FLIGHT, InFlight, Link, LinkRequest, PATIENCE, SETTLING};
use crate::sequencer::run::Sequencer;
use crate::sequencer::spans;
use crate::sequencer::work::{Source, Work};
use crate::telemetry::traces::parent::traceparent;

/// Whether a command is frequent enough to be forwarded, and yields no events when it is decided again. A plain
/// `CancelAcquire` does, and a repeated Hello is rejected.
fn is_forwarded(command: &Command) -> bool {
    matches!(
        command,
        Command::Change { .. }
            | Command::Acquire { .. }
            | Command::Release { .. }
            | Command::EndWait { .. }
            | Command::OpenSession { .. }
            | Command::MoveSession { .. }
            | Command::CloseSession { .. }
    )
}

impl Sequencer {
    /// Whether there is room for more work now.
    pub(in crate::sequencer) fn has_room(&self) -> bool {
        let (in_flight, target) = (self.forwarder.in_flight.len(), self.forwarder.target());
        in_flight == 0 || in_flight < IN_FLIGHT && self.other_writer() == target
    }

    /// Forwards work, if possible. Otherwise returns it, to be carried out here.
    pub(in crate::sequencer) fn forward(&mut self, mut work: Work) -> Option<Work> {
        let keeps_order = |to: &ServerId| self.forwarder.target().is_none_or(|target| target == *to);
        let target = self.other_writer().filter(|to| keeps_order(to) && self.may_forward(&work));
        let Some(target) = target else { return Some(work) };
        let number = self.forwarder.count + 1;
        let (oldest, after) =
            (self.forwarder.in_flight.front().map_or(number, |oldest| oldest.number), self.revision());
        let requests = work.requests.iter().map(|(request, _)| request.clone()).collect();
        let spans = work.requests.iter().map(|(_, source)| source.span()).enumerate();
        let traces = spans.filter_map(|(index, span)| Some((index, traceparent(span?)?))).collect();
        let pauses = self.pauses(&work);
        let forward = Forward { number, oldest, after, requests, pauses, traces };
        let forwarder = &mut self.forwarder;
        if forwarder.links.get(&target).is_none_or(|link| link.forwards.try_send(forward).is_err()) {
            return Some(work);
        }
        work.requests.iter().filter_map(|(_, source)| source.span()).for_each(|span| spans::forwarded(span, target));
        work.forwarded_after = Some(after);
        forwarder.count = number;
        forwarder.in_flight.push_back(InFlight { target, number, work, until: Instant::now() + PATIENCE });
        None
    }

    fn may_forward(&self, work: &Work) -> bool {
        let is_frequent = |(request, source): &(Request, Source)| source.is_caller() && is_forwarded(&request.command);
        let has_commands = !work.requests.is_empty() || !self.forwarder.in_flight.is_empty();
        // What was in flight before is decided here.
        has_commands
            && work.forwarded_after.is_none()
            && work.forwards.is_empty()
            && work.requests.iter().all(is_frequent)
    }

    /// The server that is to write, if that is another one with an open link.
    fn other_writer(&self) -> Option<ServerId> {
        let (forwarder, me) = (&self.forwarder, self.settings.me);
        if forwarder.must_void || forwarder.returned.is_some() || forwarder.alone >= ALONE {
            return None;
        }
        let writes = |(server, at): &(&ServerId, &Instant)| at.elapsed() < IDLE || forwarder.target() == Some(**server);
        let is_usable =
            |server: &ServerId| *server == me || forwarder.links.get(server).is_some_and(|link| link.is_open);
        let mut writers = self.replica.writers.iter().filter(writes).map(|(server, _)| *server);
        writers.find(is_usable).filter(|server| *server != me)
    }

    /// Whether the last writer sends this server what it commits.
    pub(in crate::sequencer) fn is_notified(&self) -> bool {
        let writer = self.replica.last_writer.and_then(|writer| self.forwarder.links.get(&writer));
        writer.is_some_and(|link| link.is_open)
    }

    /// Opens links to the other servers that wrote lately, except those that have just failed.
    pub(in crate::sequencer) fn link_to_writers(&mut self) {
        let Some(peers) = &self.settings.peers else { return };
        let (me, forwarder) = (self.settings.me, &mut self.forwarder);
        if self.replica.writers.keys().all(|writer| *writer == me || forwarder.links.contains_key(writer)) {
            return;
        }
        let now = Instant::now();
        forwarder.suspended.retain(|_, until| *until > now);
        self.replica.writers.retain(|_, at| at.elapsed() < IDLE);
        for &to in self.replica.writers.keys().filter(|writer| **writer != me) {
            if forwarder.links.contains_key(&to) || forwarder.suspended.contains_key(&to) {
                continue;
            }
            let Some(member) = self.settings.membership.member(to).filter(|member| !member.address.is_empty()) else {
                continue;
            };
            forwarder.count += 1;
            let (number, namespace) = (forwarder.count, self.replica.name.clone());
            let events = forwarder.event_sender.clone();
            let forwards = peers.link(LinkRequest { from: me, to, member, namespace, number, events });
            forwarder.links.insert(to, Link { number, forwards, is_open: false });
        }
    }

    /// Takes back what is in flight before this server may append, in front of this work. Waits a moment for results,
    /// unless other servers wait for this one.
    pub(in crate::sequencer) async fn take_back_before(&mut self, work: Work) -> Work {
        let until = Instant::now() + SETTLING;
        while work.forwards.is_empty()
            && !self.forwarder.in_flight.is_empty()
            && let Ok(Some((link, event))) = timeout_at(until, self.forwarder.events.recv()).await
        {
            self.on_link_event(link, event).await;
        }
        self.forwarder.take_back();
        let Some(mut returned) = self.forwarder.returned.take() else { return work };
        returned.append(work);
        returned
    }

    /// Takes back what has been in flight for too long, and forwards nothing more to its receiver for a while.
    pub(in crate::sequencer) fn take_back_overdue(&mut self) {
        if let Some(server) = self.forwarder.target().filter(|_| self.forwarder.until() <= Some(Instant::now())) {
            tracing::warn!(%server, namespace = %self.replica.name, "no reply to a command forwarded to another server");
            self.forwarder.suspend(server);
            self.forwarder.take_back();
        }
    }
}
