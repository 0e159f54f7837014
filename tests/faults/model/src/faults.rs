//! Models faults and other optional events, and the effect of each action.

use crate::action::Action;
use crate::client::{Kind, Stage};
use crate::limits::Limits;
use crate::server::Instance;
use crate::table::{Command, Event, Node};
use crate::world::World;

impl World {
    /// Faults and other optional events within the budget.
    pub fn faults(&self, limits: &Limits, actions: &mut Vec<Action>) {
        let budget = &self.budget;
        for (server, instance) in (0..).zip(&self.servers) {
            let Some(instance) = instance else {
                actions.extend((budget.restarts > 0).then_some(Action::Restart(server)));
                continue;
            };
            actions.extend((instance.ahead < limits.drift).then_some(Action::RunAhead(server)));
            actions.extend((budget.server_crashes > 0).then_some(Action::CrashServer(server)));
            let heartbeats = instance.heartbeat.is_none() && !instance.has_sent_heartbeat;
            if heartbeats && budget.lost_heartbeats > 0 {
                actions.extend([Action::HeartbeatUnanswered(server), Action::HeartbeatLost(server)]);
            }
            actions.extend(instance.heartbeat.map(|_| Action::HeartbeatArrives(server)));
            actions.extend((heartbeats && budget.slow > 0).then_some(Action::HeartbeatSlowly(server)));
            self.appends(instance.node, instance.job.as_ref().is_some_and(|job| job.sent), actions);
        }
        for (id, client) in (0..).zip(&self.clients).filter(|(_, client)| client.lives) {
            actions.extend((budget.client_crashes > 0).then_some(Action::CrashClient(id)));
            if budget.slow > 0 && client.request.is_none() && !client.has_sent_request && !client.is_new {
                let at = |(server, instance): (u8, &Option<Instance>)| {
                    let here = instance.as_ref().is_some_and(|instance| client.stream == Some(instance.node));
                    (limits.calls || here && !client.over).then_some(Action::RenewSlowly(id, server))
                };
                actions.extend((0..).zip(&self.servers).filter(|(_, instance)| instance.is_some()).filter_map(at));
            }
            if budget.moves > 0 && !client.is_new && !client.over && client.stream.is_some() {
                let other = |(server, instance): (u8, &Option<Instance>)| {
                    let instance = instance.as_ref()?;
                    (client.stream != Some(instance.node)).then_some(Action::Move(id, server))
                };
                actions.extend((0..).zip(&self.servers).filter_map(other));
            }
            if budget.releases > 0 && client.is_valid_holder() && client.request.is_none() && client.stream.is_some() {
                actions.push(Action::Release(id));
            }
        }
        if budget.failovers > 0 {
            let most = budget.lost_batches.min(self.store.log.len() as u8);
            actions.extend((0..=most).map(Action::FailOver));
        }
    }

    fn appends(&self, node: Node, sent: bool, actions: &mut Vec<Action>) {
        if self.store.in_progress[usize::from(node)].is_none() || !sent {
            return;
        }
        if self.budget.unknowns > 0 {
            actions.extend([Action::AppendUnanswered(node), Action::AppendLost(node), Action::AppendSlow(node)]);
        }
        if self.budget.unavailables > 0 {
            actions.push(Action::Reject(node));
        }
    }

    /// Performs an action.
    pub fn act(&mut self, action: Action, limits: &Limits) {
        match action {
            Action::Tick => self.tick(limits),
            Action::Acquire(client, server) => self.send_request(client, server, Kind::Acquire),
            Action::Move(client, server) => {
                self.budget.moves -= u8::from(self.clients[usize::from(client)].stream.is_some());
                self.send_request(client, server, Kind::Move);
            }
            Action::Renew(client, server) => {
                self.send_request(client, server, Kind::Renew);
                self.handle(client, limits);
                if self.client(client).request.is_some_and(|request| matches!(request.stage, Stage::Answered(_))) {
                    self.receive_reply(client, limits);
                }
            }
            Action::ReceiveReply(client) => self.receive_reply(client, limits),
            Action::ReceiveGrant(client) => self.receive_grant(client),
            Action::Notice(client) => self.client(client).disconnect(),
            Action::Handle(client) => self.handle(client, limits),
            Action::Confirm(client) => self.confirm(client, limits),
            Action::SendGrant(server, client) => self.send_grant(server, client),
            Action::End(server, client) => self.end(server, client, limits),
            Action::HeartbeatArrives(server) => self.heartbeat_arrives(server, true, limits),
            Action::MarkDead(server, node) => self.mark_dead(server, node, limits),
            Action::Append(node) => {
                if let Some(committed) = self.carry_out(node, limits) {
                    self.append_done(node, committed, limits);
                }
            }
            Action::Follow(server) => self.with_node(server, |world, node| world.follow(node, limits)),
            Action::Retry(server) => self.with_node(server, World::retry),
            Action::Adopt(server, dead) => self.with_node(server, |world, by| {
                world.begin(by, Command::Adopt { dead, by }, None, limits);
            }),
            Action::Heartbeat(server) => {
                self.heartbeat(server);
                self.heartbeat_arrives(server, true, limits);
            }
            fault => self.inject_fault(fault, limits),
        }
    }

    fn inject_fault(&mut self, fault: Action, limits: &Limits) {
        match fault {
            Action::RenewSlowly(client, server) => {
                self.budget.slow -= 1;
                self.send_request(client, server, Kind::Renew);
            }
            Action::HeartbeatSlowly(server) => {
                self.budget.slow -= 1;
                self.heartbeat(server);
            }
            Action::RunAhead(server) => {
                if let Some(instance) = &mut self.servers[usize::from(server)] {
                    instance.ahead += 1;
                    let has_sent_heartbeat = instance.has_sent_heartbeat;
                    instance.tick(limits);
                    instance.has_sent_heartbeat = has_sent_heartbeat;
                }
            }
            Action::Release(client) => {
                self.budget.releases -= 1;
                self.release(client);
            }
            Action::AppendUnanswered(node) => {
                self.budget.unknowns -= 1;
                self.carry_out(node, limits);
                self.append_unknown(node, limits);
            }
            Action::AppendLost(node) => {
                self.budget.unknowns -= 1;
                self.store.in_progress[usize::from(node)] = None;
                self.append_unknown(node, limits);
            }
            Action::AppendSlow(node) => {
                self.budget.unknowns -= 1;
                self.append_unknown(node, limits);
            }
            Action::Reject(node) => {
                self.budget.unavailables -= 1;
                self.append_rejected(node);
            }
            Action::HeartbeatUnanswered(server) => {
                self.budget.lost_heartbeats -= 1;
                self.heartbeat(server);
                self.heartbeat_arrives(server, false, limits);
            }
            Action::HeartbeatLost(server) => {
                self.budget.lost_heartbeats -= 1;
                if let Some(instance) = &mut self.servers[usize::from(server)] {
                    instance.has_sent_heartbeat = true;
                }
            }
            Action::FailOver(lost) => self.fail_over(lost, limits),
            Action::CrashClient(client) => {
                self.budget.client_crashes -= 1;
                let client = self.client(client);
                client.disconnect();
                client.lives = false;
            }
            Action::CrashServer(server) => {
                self.budget.server_crashes -= 1;
                self.servers[usize::from(server)] = None;
            }
            Action::Restart(server) => {
                self.budget.restarts -= 1;
                let instance = self.start(limits);
                self.servers[usize::from(server)] = Some(instance);
            }
            _ => {}
        }
    }

    fn with_node(&mut self, server: u8, act: impl FnOnce(&mut Self, Node)) {
        if let Some(node) = self.servers[usize::from(server)].as_ref().map(|instance| instance.node) {
            act(self, node);
        }
    }

    fn send_grant(&mut self, server: u8, client: u8) {
        let instance = self.servers[usize::from(server)].as_ref();
        let token = instance.and_then(|instance| instance.table.token_of(client));
        self.client(client).pending_grant = token;
    }

    /// Fails the database over. The outcome of appends in progress becomes unknown.
    fn fail_over(&mut self, lost: u8, limits: &Limits) {
        self.budget.failovers -= 1;
        self.budget.lost_batches -= lost;
        let gone = self.store.fail_over(lost.into());
        let tokens = gone.iter().flat_map(|batch| &batch.events).filter_map(|recorded| match recorded.event {
            Event::Granted { token, .. } => Some(token),
            _ => None,
        });
        self.account.lost(lost > 0, tokens);
        let nodes: Vec<Node> = self.servers.iter().flatten().map(|instance| instance.node).collect();
        nodes.into_iter().for_each(|node| self.append_unknown(node, limits));
    }
}
