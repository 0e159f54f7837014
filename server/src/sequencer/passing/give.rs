//! Giving: what is passed, and to whom.

use tenure_core::{Command, Request, ServerId};
use tokio::time::{Instant, timeout_at};

use super::{ALONE, Given, IDLE, Link, Linking, MOST_GIVEN, PATIENCE, Pass, SETTLING};
use crate::sequencer::run::Sequencer;
use crate::sequencer::spans;
use crate::sequencer::work::{Source, Work};
use crate::telemetry::traces::parent::traceparent;

/// Whether a command is one of those that are frequent enough to be passed.
fn is_frequent(command: &Command) -> bool {
    matches!(
        command,
        Command::Acquire { .. }
            | Command::Release { .. }
            | Command::CancelAcquire { .. }
            | Command::EndWait { .. }
            | Command::OpenSession { .. }
            | Command::AttachSession { .. }
            | Command::CloseSession { .. }
    )
}

/// How the spans of those commands that are traced are named to the server that they are passed to.
fn traces_of(work: &Work) -> Vec<(usize, String)> {
    let spans = work.requests.iter().map(|(_, source)| source.span()).enumerate();
    spans.filter_map(|(place, span)| Some((place, traceparent(span?)?))).collect()
}

impl Sequencer {
    /// Whether there is room for more work now.
    pub(in crate::sequencer) fn has_room(&self) -> bool {
        let passing = &self.passing;
        passing.given.is_empty()
            || passing.given.len() < MOST_GIVEN && self.writer_to_pass_to() == Some(passing.given_to)
    }

    /// Passes work, if that can be. What comes back is to be carried out here.
    pub(in crate::sequencer) fn pass(&mut self, mut work: Work) -> Option<Work> {
        let in_order = |to: &ServerId| self.passing.given.is_empty() || self.passing.given_to == *to;
        let to = self.writer_to_pass_to().filter(in_order).filter(|_| self.may_pass(&work));
        let Some(to) = to else { return Some(work) };
        self.passing.count += 1;
        let (number, after) = (self.passing.count, self.replica.table.revision());
        let requests = work.requests.iter().map(|(request, _)| request.clone()).collect();
        let pass = Pass { number, after, requests, pauses: self.pauses(&work), traces: traces_of(&work) };
        let link = self.passing.links.get(&to);
        if !link.is_some_and(|link| link.giver.give(pass)) {
            return Some(work);
        }
        work.requests.iter().filter_map(|(_, source)| source.span()).for_each(|span| spans::passed(span, to));
        work.passed_after = Some(work.passed_after.map_or(after, |earlier| earlier.min(after)));
        self.passing.given_to = to;
        self.passing.given.push_back(Given { number, work, until: Instant::now() + PATIENCE });
        None
    }

    fn may_pass(&self, work: &Work) -> bool {
        let asked = |(request, source): &(Request, Source)| source.is_caller() && is_frequent(&request.command);
        let has_commands = !work.requests.is_empty() || !self.passing.given.is_empty();
        // What was passed once and came back is decided here.
        has_commands && work.passed_after.is_none() && work.taken.is_empty() && work.requests.iter().all(asked)
    }

    /// The server that is to write, if that is another one and can be passed to.
    fn writer_to_pass_to(&self) -> Option<ServerId> {
        let (passing, me) = (&self.passing, self.settings.me);
        if passing.unsettled || passing.owed.is_some() || passing.alone >= ALONE {
            return None;
        }
        let writes = |(server, at): &(&ServerId, &Instant)| {
            at.elapsed() < IDLE || !passing.given.is_empty() && passing.given_to == **server
        };
        let usable = |server: &ServerId| *server == me || passing.links.get(server).is_some_and(|link| link.is_open);
        let mut writers = self.replica.writers.iter().filter(writes).map(|(server, _)| *server);
        writers.find(usable).filter(|server| *server != me)
    }

    /// Whether the last writer sends this server what it commits.
    pub(in crate::sequencer) fn is_notified(&self) -> bool {
        let writer = self.replica.last_writer.and_then(|writer| self.passing.links.get(&writer));
        writer.is_some_and(|link| link.is_open)
    }

    /// Links to the others who wrote lately, unless there is a link or it was of no use just now.
    pub(in crate::sequencer) fn link_to_writers(&mut self) {
        let Some(peers) = &self.settings.peers else { return };
        let (me, passing) = (self.settings.me, &mut self.passing);
        if self.replica.writers.keys().all(|writer| *writer == me || passing.links.contains_key(writer)) {
            return;
        }
        let now = Instant::now();
        passing.shunned.retain(|_, until| *until > now);
        self.replica.writers.retain(|_, at| at.elapsed() < IDLE);
        for &to in self.replica.writers.keys().filter(|writer| **writer != me) {
            if passing.links.contains_key(&to) || passing.shunned.contains_key(&to) {
                continue;
            }
            let Some(member) = self.settings.membership.member(to).filter(|member| !member.address.is_empty()) else {
                continue;
            };
            passing.count += 1;
            let (number, namespace) = (passing.count, self.replica.name.clone());
            let heard = passing.words.0.clone();
            let giver = peers.link(Linking { from: me, to, member, namespace, link: number, heard });
            passing.links.insert(to, Link { number, giver, is_open: false });
        }
    }

    /// All that is to be decided before this server may append: what it has passed and has no verdict on, and then this work.
    /// Waits a moment for verdicts, unless others wait for this server.
    pub(in crate::sequencer) async fn take_back_before(&mut self, work: Work) -> Work {
        let until = Instant::now() + SETTLING;
        while work.taken.is_empty()
            && !self.passing.given.is_empty()
            && let Ok(Some(heard)) = timeout_at(until, self.passing.word()).await
        {
            self.hear(heard).await;
        }
        self.passing.take_back();
        match self.passing.owed() {
            Some(mut owed) => {
                owed.append(work);
                owed
            }
            None => work,
        }
    }

    /// Takes back what was passed for longer than the patience lasts, and shuns who has it.
    pub(in crate::sequencer) fn lose_patience(&mut self) {
        if self.passing.until().is_some_and(|until| until <= Instant::now()) {
            let server = self.passing.given_to;
            tracing::warn!(%server, namespace = %self.replica.name, "no reply to a command forwarded to another server");
            self.passing.shun(server);
            self.passing.take_back();
        }
    }
}
