//! Models the servers' background actions, mishaps, and the effect of each action.

use super::action::Action;
use super::flaw::Flaw;
use super::limits::Limits;
use super::table::{Command, Id, Server};
use super::world::{Call, Life, Stage, World};

impl World {
    /// The actions that servers take by themselves.
    pub(super) fn server_actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        for (server, life) in self.running() {
            if life.at < self.tail.len() || life.is_behind {
                actions.push(Action::Follow(server));
            }
            actions.extend(life.commands.iter().map(|command| Action::Command(server, *command)));
            let due = life.abandoned.iter().filter(|id| Self::may_abandon(life, **id));
            actions.extend(due.map(|id| Action::Abandon(server, *id)));
            let dead = (0..).zip(&self.servers).filter(|(_, life)| life.is_none()).map(|(dead, _)| dead);
            let left = dead.filter(|dead| self.head.names(*dead, limits.flaw));
            actions.extend(left.map(|dead| Action::Adopt(server, dead)));
        }
        for (place, call) in self.calls.iter().enumerate() {
            match call.stage {
                Stage::Received => actions.push(Action::Decide(place)),
                Stage::Waiting(id) => {
                    actions.extend(self.may_ask_again(call, id, limits).then_some(Action::AskAgain(place)));
                    actions.extend((!call.queue).then_some(Action::TimeOut(place)));
                }
                Stage::TimedOut { .. } => actions.push(Action::EndWait(place)),
                Stage::Granted(..) => actions.push(Action::Return(place)),
                Stage::Acknowledging(..) => actions.push(Action::Acknowledge(place)),
                Stage::Answered(_) => {}
            }
        }
    }

    /// An abandoned claim is kept for the reattach time, which exceeds the time to decide the commands that its server
    /// has received about it.
    fn may_abandon(life: &Life, id: Id) -> bool {
        let about = |command: &Command| matches!(command, Command::EndWait(of) | Command::Acknowledge(of) if *of == id);
        !life.commands.iter().any(about)
    }

    /// Whether a call sends its Acquire again for a claim that is awaited elsewhere, which is a flaw.
    fn may_ask_again(&self, call: &Call, id: Id, limits: &Limits) -> bool {
        let same = |other: &Call| other.left && other.client == call.client && other.server == call.server;
        let is_elsewhere = |life: &Life| {
            let claim = self.table_at(life.at, limits).claim(id);
            claim.is_some_and(|claim| claim.at != Some(call.server))
        };
        limits.has(Flaw::AsksAgain) && !self.calls.iter().any(same) && self.life(call.server).is_some_and(is_elsewhere)
    }

    /// Mishaps and delays within the budget.
    pub(super) fn mishaps(&self, actions: &mut Vec<Action>) {
        let budget = &self.budget;
        for (place, call) in self.calls.iter().enumerate() {
            let waits = call.queue && matches!(call.stage, Stage::Waiting(_));
            actions.extend((waits && budget.timeouts > 0).then_some(Action::TimeOut(place)));
            let in_order = self.life(call.server).is_some_and(|life| life.commands.is_empty());
            let passable = match call.stage {
                Stage::Received => call.passed.is_none(),
                Stage::TimedOut { ends, .. } => ends && in_order,
                _ => false,
            };
            if passable && budget.passes > 0 {
                let others = self.running().filter(|(server, _)| *server != call.server);
                actions.extend(others.map(|(server, _)| Action::Pass(place, server)));
            }
        }
        for (client, home) in (0..).zip(&self.head.homes) {
            // A waiting call renews its session.
            let waits = |call: &Call| matches!(call.stage, Stage::Waiting(_) | Stage::TimedOut { .. });
            let is_renewed = self.calls.iter().any(|call| call.client == client && waits(call));
            let is_home_up = home.is_some_and(|home| self.life(home).is_some());
            actions.extend((budget.expiries > 0 && is_home_up && !is_renewed).then_some(Action::Expire(client)));
        }
        let is_several = self.running().count() > 1;
        for (server, life) in self.running() {
            actions.extend((budget.crashes > 0 && is_several).then_some(Action::Crash(server)));
            if budget.reloads > 0 {
                let others = (0..=self.tail.len()).filter(|at| *at != life.at);
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
                self.carry_out(server, Command::Attach(client), limits);
            }
            Action::Leave(place) => self.leave_call(place),
            Action::Deliver(place) => self.deliver(place),
            Action::Lose(place) => self.lose(place),
            Action::Follow(server) => {
                self.follow(server, limits);
                self.caught_up(server, limits);
            }
            Action::Decide(place) => self.decide_acquire(place, limits),
            Action::Pass(place, to) => self.pass(place, to, limits),
            Action::TimeOut(place) => self.time_out(place),
            Action::EndWait(place) => self.end_wait(place, limits),
            Action::Return(place) => self.return_grant(place, limits),
            Action::Acknowledge(place) => self.acknowledge(place, limits),
            Action::AskAgain(place) => self.ask_again(place),
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
        while let Some(place) = self.calls.iter().position(|call| call.server == server) {
            self.lost(place);
        }
    }
}
