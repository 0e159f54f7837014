//! Models the clients: each spreads its calls over all servers, and may have an old call in progress when it makes the
//! next.

use super::action::{Action, CallIndex};
use super::limits::Limits;
use super::table::{Client, Command, Id, Server};
use super::world::{Answer, Call, Program, Stage, World};

impl World {
    /// The actions that clients may take.
    pub(super) fn client_actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        for (id, client) in (0..).zip(&self.clients) {
            let home = self.head.homes[usize::from(id)];
            for (server, _) in self.running() {
                if client.acquires > 0 {
                    actions.push(Action::Acquire(id, server, true));
                    actions.extend(limits.tries.then_some(Action::Acquire(id, server, false)));
                }
                if client.hold.is_some() && self.budget.releases > 0 {
                    actions.push(Action::Release(id, server));
                }
                if home.is_some() && self.budget.cancels > 0 {
                    actions.push(Action::Cancel(id, server));
                }
                if home.is_some_and(|home| home != server) && self.budget.renews > 0 {
                    actions.push(Action::Renew(id, server));
                }
            }
        }
        for (index, call) in self.calls.iter().enumerate().filter(|(_, call)| !call.left) {
            let is_answered = matches!(call.stage, Stage::Answered(_));
            actions.extend((is_answered && self.budget.losses > 0).then_some(Action::Lose(index)));
            actions.extend((!is_answered && self.budget.leaves > 0).then_some(Action::Leave(index)));
        }
    }

    /// Replies that can be delivered.
    pub(super) fn deliveries(&self, actions: &mut Vec<Action>) {
        let answered = |(_, call): &(CallIndex, &Call)| matches!(call.stage, Stage::Answered(_));
        actions.extend(self.calls.iter().enumerate().filter(answered).map(|(index, _)| Action::Deliver(index)));
    }

    fn client(&mut self, client: Client) -> &mut Program {
        &mut self.clients[usize::from(client)]
    }

    pub(super) fn acquire(&mut self, client: Client, server: Server, queue: bool, limits: &Limits) {
        let at = self.instance(server).map_or(0, |instance| instance.at);
        let seen = self.table_at(at, limits).cancels[usize::from(client)];
        let (forwarded, left, cancelled, stage) = (None, false, false, Stage::Received);
        self.calls.push(Call { client, server, seen, queue, forwarded, left, cancelled, stage });
        let client = self.client(client);
        client.acquires -= 1;
        client.has_cancelled = false;
    }

    pub(super) fn release(&mut self, client: Client, server: Server, limits: &Limits) {
        self.budget.releases -= 1;
        let Some(id) = self.client(client).hold.take() else { return };
        self.client(client).first = id.number + 1;
        self.carry_out(server, Command::Release(id), limits);
    }

    pub(super) fn cancel(&mut self, client: Client, server: Server, limits: &Limits) {
        self.budget.cancels -= 1;
        self.carry_out(server, Command::Cancel(client), limits);
        let first = self.head.made[usize::from(client)];
        self.calls.iter_mut().filter(|call| call.client == client).for_each(|call| call.cancelled = true);
        let Program { acquires, .. } = *self.client(client);
        let (hold, has_left, has_lost_grant) = (None, false, false);
        *self.client(client) = Program { acquires, hold, first, has_cancelled: true, has_left, has_lost_grant };
    }

    /// A session expires, and its client knows by its own clock.
    pub(super) fn expire(&mut self, client: Client, limits: &Limits) {
        self.budget.expiries -= 1;
        let Some(home) = self.head.homes[usize::from(client)] else { return };
        self.carry_out(home, Command::Expire(client), limits);
        let first = self.head.made[usize::from(client)];
        let client = self.client(client);
        (client.hold, client.first) = (None, first);
    }

    pub(super) fn deliver(&mut self, index: CallIndex) {
        let Call { client, stage: Stage::Answered(answer), cancelled, .. } = self.calls.remove(index) else { return };
        if let Answer::Held(id) = answer
            && !cancelled
        {
            self.granted(client, id);
        }
    }

    fn granted(&mut self, client: Client, id: Id) {
        let client = self.client(client);
        if id.number >= client.first {
            client.hold = Some(id);
        }
    }

    pub(super) fn lose(&mut self, index: CallIndex) {
        self.budget.losses -= 1;
        self.lost(index);
    }

    /// A call ends without a reply.
    pub(super) fn lost(&mut self, index: CallIndex) {
        let call = self.calls.remove(index);
        if !call.left && !call.cancelled {
            let client = self.client(call.client);
            client.has_left = true;
            client.has_lost_grant |= matches!(call.stage, Stage::Answered(Answer::Held(_)));
        }
    }

    /// A client abandons a call. The command that its server's sequencer has received is decided nevertheless.
    pub(super) fn leave_call(&mut self, index: CallIndex) {
        self.budget.leaves -= 1;
        let call = self.calls[index];
        let Call { client, server, stage, .. } = call;
        if !call.cancelled {
            self.client(client).has_left = true;
        }
        if stage == Stage::Received {
            self.calls[index].left = true;
            return;
        }
        self.calls.remove(index);
        let command = match stage {
            Stage::TimedOut { id, ends: true, .. } => Some(Command::EndWait(id)),
            Stage::Acknowledging(id, _) => {
                self.client(client).has_lost_grant |= !call.cancelled;
                Some(Command::Acknowledge(id))
            }
            _ => None,
        };
        self.dropped(call);
        if let (Some(command), Some(instance)) = (command, &mut self.servers[usize::from(server)])
            && !instance.commands.contains(&command)
        {
            instance.commands.push(command);
        }
    }
}
