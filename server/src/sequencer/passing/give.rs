//! Giving: what is passed, and to whom.

use tenure_core::{Command, ServerId};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{Given, IDLE, Link, Linking, MOST_GIVEN, PATIENCE, Pass, SETTLING};
use crate::sequencer::passing::ALONE;
use crate::sequencer::run::Sequencer;
use crate::sequencer::work::{Asker, Work};

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
        let commands = work.commands.iter().map(|(command, _)| command.clone()).collect();
        let link = self.passing.links.get(&to);
        if link.is_none_or(|link| link.passes.try_send(Pass { number, after, commands }).is_err()) {
            return Some(work);
        }
        work.passed_after = Some(work.passed_after.map_or(after, |earlier| earlier.min(after)));
        self.passing.given_to = to;
        self.passing.given.push_back(Given { number, work, until: Instant::now() + PATIENCE });
        None
    }

    fn may_pass(&self, work: &Work) -> bool {
        let asked = |(command, asker): &(Command, Asker)| asker.is_caller() && is_frequent(command);
        let has_commands = !work.commands.is_empty() || !self.passing.given.is_empty();
        // What was passed once and came back is decided here.
        has_commands && work.passed_after.is_none() && work.taken.is_empty() && work.commands.iter().all(asked)
    }

    /// The server that wrote last, if it can be passed to and is not this one.
    fn writer_to_pass_to(&self) -> Option<ServerId> {
        let passing = &self.passing;
        let (writer, at) = self.replica.last_writer.filter(|(writer, _)| *writer != self.settings.me)?;
        let writes = !passing.given.is_empty() || at.elapsed() < IDLE;
        let usable = writes && !passing.unsettled && passing.owed.is_none() && passing.alone < ALONE;
        (usable && passing.links.get(&writer).is_some_and(|link| link.is_open)).then_some(writer)
    }

    /// Whether the server that wrote last tells of what it commits.
    pub(in crate::sequencer) fn is_told(&self) -> bool {
        let writer = self.replica.last_writer.map(|(writer, _)| writer);
        writer.and_then(|writer| self.passing.links.get(&writer)).is_some_and(|link| link.is_open)
    }

    /// Links to the server that wrote last, unless there is a link or it was of no use just now.
    pub(in crate::sequencer) fn link_to_writer(&mut self) {
        let Some(peers) = &self.settings.peers else { return };
        let Some((to, _)) = self.replica.last_writer else { return };
        let now = Instant::now();
        if to == self.settings.me || self.passing.links.contains_key(&to) {
            return;
        }
        self.passing.shunned.retain(|_, until| *until > now);
        if self.passing.shunned.contains_key(&to) {
            return;
        }
        let Some(address) = self.settings.others.address(to).filter(|address| !address.is_empty()) else { return };
        self.passing.count += 1;
        let (number, namespace) = (self.passing.count, self.replica.name.clone());
        let (passes, to_send) = mpsc::channel(MOST_GIVEN);
        let heard = self.passing.words.0.clone();
        let from = self.settings.me;
        peers.link(Linking { from, to, address, namespace, link: number, passes: to_send, heard });
        self.passing.links.insert(to, Link { number, passes, is_open: false });
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
                owed.join(work);
                owed
            }
            None => work,
        }
    }

    /// Takes back what was passed for longer than the patience lasts, and shuns who has it.
    pub(in crate::sequencer) fn lose_patience(&mut self) {
        if self.passing.until().is_some_and(|until| until <= Instant::now()) {
            let server = self.passing.given_to;
            tracing::warn!(%server, namespace = %self.replica.name, "no answer to what was passed to another server");
            self.passing.shun(server);
            self.passing.take_back();
        }
    }
}
