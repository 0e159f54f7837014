//! The commands of a client's changes: at most so many are in progress, and each is answered in bounded time.

use std::collections::{BTreeSet, VecDeque};

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;
use tenure_core::{Absence, Change, Command, Outcome, Rejection};
use tenure_proto::v1;
use tenure_proto::v1::state::Kind as State;
use tokio::time::Instant;
use tonic::{Code, Status};

use super::{Client, REMEMBERED};
use crate::grpc::connect::admit::Admission;
use crate::grpc::framing::CHANGES;
use crate::grpc::status::rejected;
use crate::grpc::{CALL, spans};
use crate::sequencer::{Replies, Reply, StreamEnd, Tag};

/// The maximum number of commands of one stream that are in progress. Beyond it, what is declared is rejected.
const IN_PROGRESS: usize = 1_000;

/// Commands to submit, each with its span.
type Commands = Vec<(Tag, tenure_core::Request, Context)>;

/// A command in progress.
pub(super) struct InProgress {
    tag: Tag,
    since: Instant,
    /// The traced change that it is made for.
    call: Context,
    /// The numbers that it declares.
    declared: Vec<u64>,
    /// Those of which a state was reported: they were made, whatever is replied.
    made: BTreeSet<u64>,
    /// The greatest number that it or a command before it declares.
    last: u64,
    /// The numbers that it withdraws.
    withdrawn: Vec<u64>,
}

impl Client {
    pub(super) async fn change(&mut self, changes: v1::Changes) -> Result<(), Status> {
        if changes.changes.is_empty() || changes.changes.len() > CHANGES {
            let bound = format!("1 to {CHANGES} changes, not {}", changes.changes.len());
            return Err(self.misused("changes.changes", &bound));
        }
        let (is_full, is_draining) = (self.namespace.is_full(), self.api.check_stays().is_err());
        let is_busy = self.in_progress.len() >= IN_PROGRESS;
        let limit = "commands in progress on one stream";
        let mut admission = Admission::new(&self.api, self.namespace.name());
        let mut commands = Vec::new();
        for (at, change) in changes.changes.into_iter().enumerate() {
            let field = |name: &str| format!("changes.changes[{at}].{name}");
            let call = change.kind.as_ref().map(|kind| spans::change(kind, &change.traceparent)).unwrap_or_default();
            let is_traced = call.has_active_span();
            if is_traced {
                self.add(&mut commands, &mut admission, Context::new());
            }
            match change.kind {
                Some(v1::change::Kind::Declare(declaration)) if is_busy => {
                    let reached = Rejection::LimitReached { limit, bound: IN_PROGRESS };
                    admission.reject_all(&declaration, &rejected(reached));
                }
                Some(v1::change::Kind::Withdraw(number)) if is_busy => drop(self.withdrawals.insert(number)),
                Some(v1::change::Kind::Declare(declaration)) if is_full => {
                    admission.reject_all(&declaration, &rejected(Rejection::Overloaded));
                }
                Some(v1::change::Kind::Declare(declaration)) if is_draining => {
                    admission.reject_all(&declaration, &rejected(Rejection::Draining));
                }
                Some(v1::change::Kind::Declare(declaration)) => {
                    let declared = admission.declare(&mut self.stream_caller, declaration, &field("declare"));
                    declared.inspect_err(|_| self.end = StreamEnd::Closed)?;
                }
                Some(v1::change::Kind::Withdraw(number)) => admission.changes.push(Change::Withdraw(number)),
                Some(v1::change::Kind::Pause(number)) => {
                    if !self.namespace.pause(&self.id, number) {
                        self.pausing.insert(number);
                    }
                }
                Some(v1::change::Kind::Resume(number)) => {
                    self.pausing.remove(&number);
                    let resumed = self.namespace.resume(&self.id, number);
                    resumed.map_err(|rejection| self.fail(rejection))?;
                }
                None => return Err(self.misused(&field("kind"), "one of the kinds that this server supports")),
            }
            if is_traced {
                self.add(&mut commands, &mut admission, call);
            }
        }
        self.add(&mut commands, &mut admission, Context::new());
        self.submit(commands).await?;
        self.report(admission.rejected);
        let remembered = self.withdrawals.len() + self.pausing.len();
        if remembered > REMEMBERED {
            let limit = "numbers to be withdrawn or paused on one stream";
            return Err(self.fail(Rejection::LimitReached { limit, bound: REMEMBERED }));
        }
        Ok(())
    }

    /// Adds a command with the changes that were admitted since the last one, which are part of this call.
    fn add(&mut self, commands: &mut Commands, admission: &mut Admission, call: Context) {
        let changes = std::mem::take(&mut admission.changes);
        if changes.is_empty() {
            spans::answered(&call, admission.code);
            return;
        }
        let command = match admission.principal.clone() {
            Some(principal) => self.command(changes, call, |command| principal.request(command)),
            None => self.command(changes, call, Into::into),
        };
        commands.push(command);
    }

    /// Makes changes on behalf of the server.
    pub(super) async fn decide(&mut self, changes: Vec<Change>) -> Result<(), Status> {
        if changes.is_empty() {
            return Ok(());
        }
        let command = self.command(changes, Context::new(), Into::into);
        self.submit(vec![command]).await
    }

    async fn submit(&mut self, commands: Commands) -> Result<(), Status> {
        if commands.is_empty() {
            return Ok(());
        }
        let submitted = self.namespace.decide_all(commands, &self.outcomes.0).await;
        submitted.map_err(|rejection| self.fail(rejection))
    }

    /// A command of these changes, which is in progress from now on.
    fn command(
        &mut self,
        changes: Vec<Change>,
        call: Context,
        request: impl FnOnce(Command) -> tenure_core::Request,
    ) -> (Tag, tenure_core::Request, Context) {
        let (mut declared, mut withdrawn) = (Vec::new(), Vec::new());
        for change in &changes {
            match change {
                // A session that is not opened here keeps its state.
                Change::Declare(declaration) => {
                    declared.extend(declaration.numbers().skip(usize::from(declaration.opening.is_none())));
                }
                Change::Withdraw(number) => withdrawn.push(*number),
            }
        }
        self.count += 1;
        let tag = Tag(self.count);
        let (client, epoch, home, connected) = (self.id.clone(), self.epoch, self.server, self.connected);
        let command = Command::Change { client, epoch, home, connected, changes };
        let span = self.namespace.command_span(&call, &command);
        let before = self.in_progress.back().map_or(0, |command| command.last);
        let last = declared.last().map_or(before, |last| before.max(*last));
        let (since, made) = (Instant::now(), BTreeSet::new());
        self.in_progress.push_back(InProgress { tag, since, call, declared, made, last, withdrawn });
        (tag, request(command), span)
    }

    /// Reports what became of commands.
    pub(super) fn conclude(&mut self, replies: Replies) -> Result<(), Status> {
        for (tag, reply) in replies {
            let Some(at) = self.in_progress.iter().position(|command| command.tag == tag) else { continue };
            let Some(command) = self.in_progress.remove(at) else { continue };
            spans::answered(&command.call, code_of(&reply));
            match reply.map(|decided| decided.outcome) {
                Ok(Outcome::Reconciled { mut absent, .. }) => {
                    absent.retain(|(number, _)| !command.made.contains(number) && !self.mailbox.has(*number));
                    self.report_absent(absent);
                }
                Ok(_) => {}
                Err(Rejection::ClientSuperseded(_)) => return Err(self.closed()),
                Err(rejection @ (Rejection::LeaseLost | Rejection::Draining)) => {
                    return Err(self.fail(rejection));
                }
                Err(rejection) => self.fail_command(command, rejection),
            }
        }
        Ok(())
    }

    /// Reports what a command declared as failed, unless it was made. It may yet be, so it is withdrawn.
    fn fail_command(&mut self, command: InProgress, rejection: Rejection) {
        let InProgress { mut declared, made, withdrawn, .. } = command;
        declared.retain(|number| !made.contains(number));
        if matches!(rejection, Rejection::OutcomeUnknown) {
            self.withdrawals.extend(&declared);
        }
        self.withdrawals.extend(withdrawn);
        let refusal = self.refusal(&rejected(rejection));
        let state = |number| v1::State { number, kind: Some(State::Rejected(Box::new(refusal.clone()))) };
        self.report(declared.into_iter().map(state).collect());
    }

    /// Ends what the client waits for too long.
    pub(super) fn fail_overdue(&mut self, now: Instant) {
        while self.in_progress.front().is_some_and(|command| now > command.since + CALL)
            && let Some(command) = self.in_progress.pop_front()
        {
            self.fail_command(command, Rejection::OutcomeUnknown);
        }
    }

    /// Withdraws again what could not be withdrawn, once nothing else is in progress.
    pub(super) async fn withdraw_again(&mut self) -> Result<(), Status> {
        if !self.in_progress.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.withdrawals).into_iter().map(Change::Withdraw).collect();
        self.decide(changes).await
    }
}

/// Notes that a state of this number was reported.
pub(super) fn note_made(in_progress: &mut VecDeque<InProgress>, number: u64) {
    let at = in_progress.partition_point(|command| command.last < number);
    if let Some(command) = in_progress.get_mut(at)
        && command.declared.binary_search(&number).is_ok()
    {
        command.made.insert(number);
    }
}

/// The status of a command, for its trace.
fn code_of(reply: &Reply) -> Code {
    let rejection = match reply.as_ref().map(|decided| &decided.outcome) {
        Ok(Outcome::Reconciled { absent, .. }) => absent.iter().find_map(|(_, absence)| match absence {
            Absence::Rejected(rejection) => Some(rejection),
            Absence::Ended(_) | Absence::Busy { .. } => None,
        }),
        Ok(_) => None,
        Err(rejection) => Some(rejection),
    };
    rejection.map_or(Code::Ok, |rejection| rejected(rejection.clone()).code())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(declared: &[u64], last: u64) -> InProgress {
        let (since, call, withdrawn) = (Instant::now(), Context::new(), Vec::new());
        InProgress { tag: Tag(last), since, call, declared: declared.to_vec(), made: BTreeSet::new(), last, withdrawn }
    }

    #[test]
    fn what_was_reported_is_noted_with_its_command() {
        let mut in_progress = VecDeque::from([command(&[3, 4], 4), command(&[], 4), command(&[5, 7], 7)]);
        for number in [1, 4, 5, 6, 8] {
            note_made(&mut in_progress, number);
        }
        let made: Vec<Vec<u64>> = in_progress.iter().map(|command| command.made.iter().copied().collect()).collect();
        assert_eq!(made, [vec![4], vec![], vec![5]]);
    }
}
