//! Models deciding and committing, and how calls process the outcomes: `server/src/sequencer/batch.rs`,
//! `server/src/grpc/acquire.rs`.

use super::action::CallIndex;
use super::flaw::Flaw;
use super::limits::Limits;
use super::table::{Claim, Command, Event, Id, Outcome, Reason, Server};
use super::world::{Answer, Call, Notice, Stage, World};

impl World {
    /// Decides a command at the log's head and commits its events, without applying them to the server's table.
    fn commit(&mut self, server: Server, command: Command, limits: &Limits) -> (Outcome, Vec<Event>) {
        self.commit_for(server, server, command, limits)
    }

    /// Like `World::commit`, but another server decides the command.
    fn commit_for(&mut self, server: Server, by: Server, command: Command, limits: &Limits) -> (Outcome, Vec<Event>) {
        self.catch_up(by, limits);
        let (events, outcome) = self.head.decide(command, server, limits.flaw);
        for event in &events {
            if let (Command::Abandon(_), Event::Ended(id, _)) = (command, event) {
                let at = self.head.claim(*id).and_then(|claim| claim.at);
                let waits = |call: &Call| call.stage == Stage::Waiting(*id) && !call.left && !call.cancelled;
                self.position_lost |= self.calls.iter().any(|call| waits(call) && at == Some(call.server));
            }
            self.head.apply(*event, limits.flaw);
        }
        if !events.is_empty() {
            self.tail.push(events.clone());
        }
        (outcome, events)
    }

    /// Like `World::commit`, and the server then applies the events.
    pub(super) fn carry_out(&mut self, server: Server, command: Command, limits: &Limits) -> Outcome {
        let (outcome, _) = self.commit(server, command, limits);
        self.catch_up(server, limits);
        outcome
    }

    fn answer(&mut self, index: CallIndex, answer: Answer) {
        self.calls[index].stage = Stage::Answered(answer);
    }

    /// A server decides an Acquire. `Api::decide_acquire`, `LocalState::register`.
    pub(super) fn decide_acquire(&mut self, index: CallIndex, limits: &Limits) {
        let Call { client, server, seen, queue, cancelled, .. } = self.calls[index];
        let made = self.head.made[usize::from(client)];
        let (outcome, events) = self.commit(server, Command::Acquire { client, seen, queue }, limits);
        self.cancel_overtaken |= cancelled && self.head.made[usize::from(client)] > made;
        let mut call = self.calls.remove(index);
        match outcome {
            Outcome::Held(claim) => {
                let is_new = call.forwarded == Some(false) && limits.has(Flaw::ForwardedGrantIsNew);
                let just_now = is_new || events.contains(&Event::Granted(claim));
                let is_pending = just_now || self.is_abandoned(server, claim.id) || self.has_caller(server, claim.id);
                self.register_caller(server, claim.id);
                call.stage = Stage::Granted(claim, is_pending);
            }
            Outcome::Waiting(claim) => {
                self.register_caller(server, claim.id);
                call.stage = Stage::Waiting(claim.id);
            }
            Outcome::Busy | Outcome::Done => call.stage = Stage::Answered(Answer::Busy),
            Outcome::Rejected => call.stage = Stage::Answered(Answer::Cancelled),
        }
        call.forwarded = None;
        // Keeps waiting calls in the order in which they began to wait.
        self.calls.push(call);
        self.catch_up(server, limits);
        if call.left
            && let Some(call) = self.calls.pop()
        {
            self.dropped(call);
        }
    }

    /// A server forwards a decision to another server. It learns the outcome when it decides the same command again
    /// itself, which is what it does if no result arrives. `server/src/sequencer/forwarding`.
    pub(super) fn forward(&mut self, index: CallIndex, to: Server, limits: &Limits) {
        self.budget.forwards -= 1;
        let Call { client, server, seen, queue, cancelled, stage, .. } = self.calls[index];
        let command = match stage {
            Stage::Received => Command::Acquire { client, seen, queue },
            Stage::TimedOut { id, .. } => Command::EndWait(id),
            _ => return,
        };
        let made = self.head.made[usize::from(client)];
        let table = self.instance(server).map(|instance| self.table_at(instance.at, limits));
        let held = table.map(|table| table.of(client).is_some_and(|claim| table.holds(claim.id)));
        self.commit_for(server, to, command, limits);
        self.cancel_overtaken |= cancelled && self.head.made[usize::from(client)] > made;
        self.calls[index].forwarded = held.filter(|_| stage == Stage::Received);
        self.catch_up(to, limits);
    }

    /// A wait times out. `PendingGrant::cancel`.
    pub(super) fn time_out(&mut self, index: CallIndex) {
        let Call { server, queue, stage: Stage::Waiting(id), .. } = self.calls[index] else { return };
        self.budget.timeouts -= u8::from(queue);
        let later = |call: &Call| call.server == server && call.stage == Stage::Waiting(id);
        let ends = !self.calls[index + 1..].iter().any(later);
        self.calls[index].stage = Stage::TimedOut { id, ends, notice: None };
    }

    /// A server ends a wait that has timed out, or reads the state of the claim. `Api::end_wait`.
    pub(super) fn end_wait(&mut self, index: CallIndex, limits: &Limits) {
        let Call { server, stage: Stage::TimedOut { id, ends, .. }, .. } = self.calls[index] else { return };
        self.catch_up(server, limits);
        let outcome = if ends {
            self.carry_out(server, Command::EndWait(id), limits)
        } else {
            match self.head.claim(id) {
                Some(claim) if self.head.holds(id) => Outcome::Held(claim),
                Some(claim) => Outcome::Waiting(claim),
                None => Outcome::Done,
            }
        };
        let Stage::TimedOut { notice, .. } = self.calls[index].stage else { return };
        match outcome {
            Outcome::Held(claim) => {
                let is_pending = matches!(notice, Some(Notice::Granted(true)));
                self.calls[index].stage = Stage::Granted(claim, is_pending);
                self.return_grant(index, limits);
            }
            Outcome::Waiting(_) => {
                let call = self.calls[index];
                self.answer(index, Answer::Busy);
                if !limits.has(Flaw::WaitLeftBehind) {
                    self.dropped(call);
                }
            }
            Outcome::Busy | Outcome::Rejected => self.answer(index, Answer::Busy),
            Outcome::Done => match notice {
                Some(Notice::Ended(Reason::Released)) => self.answer(index, Answer::Busy),
                Some(Notice::Again) => self.calls[index].stage = Stage::Received,
                Some(Notice::Ended(_) | Notice::Granted(_)) | None => self.answer(index, Answer::Ended),
            },
        }
    }

    /// A call returns its grant. `Api::ensure_held`.
    pub(super) fn return_grant(&mut self, index: CallIndex, limits: &Limits) {
        let Call { server, stage: Stage::Granted(Claim { id, at }, is_pending), .. } = self.calls[index] else {
            return;
        };
        if at.is_none_or(|at| at == server) || limits.has(Flaw::NoAcknowledge) {
            self.acknowledge_grant(server, id);
            self.answer(index, Answer::Held(id));
        } else {
            self.calls[index].stage = Stage::Acknowledging(id, is_pending);
        }
    }

    pub(super) fn acknowledge(&mut self, index: CallIndex, limits: &Limits) {
        let Call { server, stage: Stage::Acknowledging(id, _), .. } = self.calls[index] else { return };
        let is_held = matches!(self.carry_out(server, Command::Acknowledge(id), limits), Outcome::Held(_));
        self.answer(index, if is_held { Answer::Held(id) } else { Answer::Ended });
    }

    /// A call whose claim is awaited elsewhere sends its Acquire again and ignores the outcome. Only with a flaw.
    pub(super) fn resend(&mut self, index: CallIndex) {
        let call = self.calls[index];
        self.calls.push(Call { left: true, stage: Stage::Received, ..call });
    }

    /// A server decides a command whose outcome no call needs.
    pub(super) fn decide_command(&mut self, server: Server, command: Command, limits: &Limits) {
        if let Some(instance) = self.live(server) {
            instance.commands.retain(|other| *other != command);
        }
        self.carry_out(server, command, limits);
    }

    /// A server cancels an abandoned claim, unless the log that it reads first shows a call for it.
    /// `Home::is_still_due`.
    pub(super) fn abandon(&mut self, server: Server, id: Id, limits: &Limits) {
        self.catch_up(server, limits);
        if self.is_abandoned(server, id) {
            self.register_caller(server, id);
            self.carry_out(server, Command::Abandon(id), limits);
        }
    }
}
