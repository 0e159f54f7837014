//! Models the servers' background actions, faults, and the effect of each action.

use super::action::Action;
use super::flaw::Flaw;
use super::limits::Limits;
use super::table::{Command, Id, Server};
use super::world::{Call, Instance, Stage, World};

impl World {
    /// The actions that servers take by themselves.
    pub(super) fn server_actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        for (server, instance) in self.running() {
            if instance.at < self.tail.len() || instance.is_behind {
                actions.push(Action::Follow(server));
            }
            actions.extend(instance.commands.iter().map(|command| Action::Command(server, *command)));
            let due = instance.abandoned.iter().filter(|id| Self::may_abandon(instance, **id));
            actions.extend(due.map(|id| Action::Abandon(server, *id)));
            let dead = (0..).zip(&self.servers).filter(|(_, instance)| instance.is_none()).map(|(dead, _)| dead);
            let left = dead.filter(|dead| self.head.names(*dead, limits.flaw));
            actions.extend(left.map(|dead| Action::Adopt(server, dead)));
        }
        for (index, call) in self.calls.iter().enumerate() {
            match call.stage {
                Stage::Received => actions.push(Action::Decide(index)),
                Stage::Waiting(id) => {
                    actions.extend(self.may_resend(call, id, limits).then_some(Action::Resend(index)));
                    actions.extend((!call.queue).then_some(Action::TimeOut(index)));
                }
                Stage::TimedOut { .. } => actions.push(Action::EndWait(index)),
                Stage::Granted(..) => actions.push(Action::Return(index)),
                Stage::Acknowledging(..) => actions.push(Action::Acknowledge(index)),
                Stage::Answered(_) => {}
            }
        }
    }

    /// An abandoned claim is kept for the reattach time, which exceeds the time to decide the commands that its server
    /// has received about it.
    fn may_abandon(instance: &Instance, id: Id) -> bool {
        let about = |command: &Command| matches!(command, Command::EndWait(of) | Command::Acknowledge(of) if *of == id);
        !instance.commands.iter().any(about)
    }

    /// Whether a call sends its Acquire again for a claim that is awaited elsewhere, which is a flaw.
    fn may_resend(&self, call: &Call, id: Id, limits: &Limits) -> bool {
        let same = |other: &Call| other.left && other.client == call.client && other.server == call.server;
        let is_elsewhere = |instance: &Instance| {
            let claim = self.table_at(instance.at, limits).claim(id);
            claim.is_some_and(|claim| claim.at != Some(call.server))
        };
        limits.has(Flaw::AcquireResent)
            && !self.calls.iter().any(same)
            && self.instance(call.server).is_some_and(is_elsewhere)
    }

    /// Faults and delays within the budget.
    pub(super) fn faults(&self, actions: &mut Vec<Action>) {
        let budget = &self.budget;
        for (index, call) in self.calls.iter().enumerate() {
            let waits = call.queue && matches!(call.stage, Stage::Waiting(_));
            actions.extend((waits && budget.timeouts > 0).then_some(Action::TimeOut(index)));
            let in_order = self.instance(call.server).is_some_and(|instance| instance.commands.is_empty());
            let forwardable = match call.stage {
                Stage::Received => call.forwarded.is_none(),
                Stage::TimedOut { ends, .. } => ends && in_order,
                _ => false,
            };
            if forwardable && budget.forwards > 0 {
                let others = self.running().filter(|(server, _)| *server != call.server);
                actions.extend(others.map(|(server, _)| Action::Forward(index, server)));
            }
        }
        for (client, home) in (0..).zip(&self.head.homes) {
            // A waiting call renews its session.
            let waits = |call: &Call| matches!(call.stage, Stage::Waiting(_) | Stage::TimedOut { .. });
            let is_renewed = self.calls.iter().any(|call| call.client == client && waits(call));
            let is_home_up = home.is_some_and(|home| self.instance(home).is_some());
            actions.extend((budget.expiries > 0 && is_home_up && !is_renewed).then_some(Action::Expire(client)));
        }
        let has_others = self.running().count() > 1;
        for (server, instance) in self.running() {
            actions.extend((budget.crashes > 0 && has_others).then_some(Action::Crash(server)));
            if budget.reloads > 0 {
                let others = (0..=self.tail.len()).filter(|at| *at != instance.at);
                actions.extend(others.filter_map(|at| Some(Action::Reload(server, u8::try_from(at).ok()?))));
            }
        }
    }

    /// Performs an action.
    pub(super) fn act(&mut self, action: Action, limits: &Limits) {
        match action {
            Action::Acquire(client, server, queue) => self.acquire(client, server, queue, limits),
            Action::Release(client, server) => self.release(client, server, limits),
            Action::Cancel(client, server) => self.cancel(client, server, limits),
            Action::Renew(client, server) => {
                self.budget.renews -= 1;
                self.carry_out(server, Command::Move(client), limits);
            }
            Action::Leave(index) => self.leave_call(index),
            Action::Deliver(index) => self.deliver(index),
            Action::Lose(index) => self.lose(index),
            Action::Follow(server) => {
                self.follow(server, limits);
                self.caught_up(server, limits);
            }
            Action::Decide(index) => self.decide_acquire(index, limits),
            Action::Forward(index, to) => self.forward(index, to, limits),
            Action::TimeOut(index) => self.time_out(index),
            Action::EndWait(index) => self.end_wait(index, limits),
            Action::Return(index) => self.return_grant(index, limits),
            Action::Acknowledge(index) => self.acknowledge(index, limits),
            Action::Resend(index) => self.resend(index),
            Action::Command(server, command) => self.decide_command(server, command, limits),
            Action::Abandon(server, id) => self.abandon(server, id, limits),
            Action::Adopt(by, dead) => {
                self.carry_out(by, Command::Adopt(dead), limits);
            }
            Action::Expire(client) => self.expire(client, limits),
            Action::Crash(server) => self.crash(server),
            Action::Reload(server, at) => {
                self.budget.reloads -= 1;
                self.reload(server, at.into(), limits);
            }
        }
    }

    /// Crashes a server: its calls fail, and its in-memory state is lost.
    fn crash(&mut self, server: Server) {
        self.budget.crashes -= 1;
        self.servers[usize::from(server)] = None;
        while let Some(index) = self.calls.iter().position(|call| call.server == server) {
            self.lost(index);
        }
    }
}
