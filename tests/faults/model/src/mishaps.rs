//! Models mishaps and other optional events, and the effect of each action.

use crate::action::Action;
use crate::client::{Kind, Stage};
use crate::limits::Limits;
use crate::server::Life;
use crate::table::{Command, Event, Node};
use crate::world::World;

impl World {
    /// Mishaps and other optional events within the budget.
    pub fn mishaps(&self, limits: &Limits, actions: &mut Vec<Action>) {
        let budget = &self.budget;
        for (server, life) in (0..).zip(&self.servers) {
            let Some(life) = life else {
                actions.extend((budget.restarts > 0).then_some(Action::Restart(server)));
                continue;
            };
            actions.extend((life.ahead < limits.drift).then_some(Action::RunAhead(server)));
            actions.extend((budget.server_crashes > 0).then_some(Action::CrashServer(server)));
            let heartbeats = life.heartbeat.is_none() && !life.has_sent_heartbeat;
            if heartbeats && budget.lost_heartbeats > 0 {
                actions.extend([Action::HeartbeatUntold(server), Action::HeartbeatLost(server)]);
            }
            actions.extend(life.heartbeat.map(|_| Action::HeartbeatArrives(server)));
            actions.extend((heartbeats && budget.slow > 0).then_some(Action::HeartbeatSlowly(server)));
            self.appends(life.node, life.job.as_ref().is_some_and(|job| job.sent), actions);
        }
        for (id, client) in (0..).zip(&self.clients).filter(|(_, client)| client.lives) {
            actions.extend((budget.client_crashes > 0).then_some(Action::CrashClient(id)));
            if budget.slow > 0 && client.ask.is_none() && !client.has_asked && !client.is_new {
                let at = |(server, life): (u8, &Option<Life>)| {
                    let here = life.as_ref().is_some_and(|life| client.stream == Some(life.node));
                    (limits.calls || here && !client.over).then_some(Action::RenewSlowly(id, server))
                };
                actions.extend((0..).zip(&self.servers).filter(|(_, life)| life.is_some()).filter_map(at));
            }
            if budget.moves > 0 && !client.is_new && !client.over && client.stream.is_some() {
                let other = |(server, life): (u8, &Option<Life>)| {
                    let life = life.as_ref()?;
                    (client.stream != Some(life.node)).then_some(Action::Attach(id, server))
                };
                actions.extend((0..).zip(&self.servers).filter_map(other));
            }
            if budget.releases > 0 && client.is_valid_holder() && client.ask.is_none() && client.stream.is_some() {
                actions.push(Action::Release(id));
            }
        }
        if budget.failovers > 0 {
            let most = budget.lost_batches.min(self.store.log.len() as u8);
            actions.extend((0..=most).map(Action::FailOver));
        }
    }

    fn appends(&self, node: Node, sent: bool, actions: &mut Vec<Action>) {
        if self.store.under_way[usize::from(node)].is_none() || !sent {
            return;
        }
        if self.budget.unknowns > 0 {
            actions.extend([Action::AppendUntold(node), Action::AppendLost(node), Action::AppendSlow(node)]);
        }
        if self.budget.unavailables > 0 {
            actions.push(Action::Refuse(node));
        }
    }

    /// Performs an action.
    pub fn act(&mut self, action: Action, limits: &Limits) {
        match action {
            Action::Tick => self.tick(limits),
            Action::Acquire(client, server) => self.ask(client, server, Kind::Acquire),
            Action::Attach(client, server) => {
                self.budget.moves -= u8::from(self.clients[usize::from(client)].stream.is_some());
                self.ask(client, server, Kind::Attach);
            }
            Action::Renew(client, server) => {
                self.ask(client, server, Kind::Renew);
                self.handle(client, limits);
                if self.client(client).ask.is_some_and(|ask| matches!(ask.stage, Stage::Answered(_))) {
                    self.hear(client, limits);
                }
            }
            Action::Hear(client) => self.hear(client, limits),
            Action::HearGrant(client) => self.hear_grant(client),
            Action::Notice(client) => self.client(client).disconnect(),
            Action::Handle(client) => self.handle(client, limits),
            Action::Confirm(client) => self.confirm(client, limits),
            Action::Tell(server, client) => self.tell(server, client),
            Action::End(server, client) => self.end(server, client, limits),
            Action::HeartbeatArrives(server) => self.heartbeat_arrives(server, true, limits),
            Action::MarkDead(server, node) => self.mark_dead(server, node, limits),
            Action::Append(node) => {
                if let Some(committed) = self.carry_out(node, limits) {
                    self.told(node, committed, limits);
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
            mishap => self.go_wrong(mishap, limits),
        }
    }

    fn go_wrong(&mut self, mishap: Action, limits: &Limits) {
        match mishap {
            Action::RenewSlowly(client, server) => {
                self.budget.slow -= 1;
                self.ask(client, server, Kind::Renew);
            }
            Action::HeartbeatSlowly(server) => {
                self.budget.slow -= 1;
                self.heartbeat(server);
            }
            Action::RunAhead(server) => {
                if let Some(life) = &mut self.servers[usize::from(server)] {
                    life.ahead += 1;
                    let has_sent_heartbeat = life.has_sent_heartbeat;
                    life.tick(limits);
                    life.has_sent_heartbeat = has_sent_heartbeat;
                }
            }
            Action::Release(client) => {
                self.budget.releases -= 1;
                self.release(client);
            }
            Action::AppendUntold(node) => {
                self.budget.unknowns -= 1;
                self.carry_out(node, limits);
                self.untold(node, limits);
            }
            Action::AppendLost(node) => {
                self.budget.unknowns -= 1;
                self.store.under_way[usize::from(node)] = None;
                self.untold(node, limits);
            }
            Action::AppendSlow(node) => {
                self.budget.unknowns -= 1;
                self.untold(node, limits);
            }
            Action::Refuse(node) => {
                self.budget.unavailables -= 1;
                self.turned_away(node);
            }
            Action::HeartbeatUntold(server) => {
                self.budget.lost_heartbeats -= 1;
                self.heartbeat(server);
                self.heartbeat_arrives(server, false, limits);
            }
            Action::HeartbeatLost(server) => {
                self.budget.lost_heartbeats -= 1;
                if let Some(life) = &mut self.servers[usize::from(server)] {
                    life.has_sent_heartbeat = true;
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
                let life = self.start(limits);
                self.servers[usize::from(server)] = Some(life);
            }
            _ => {}
        }
    }

    fn with_node(&mut self, server: u8, act: impl FnOnce(&mut Self, Node)) {
        if let Some(node) = self.servers[usize::from(server)].as_ref().map(|life| life.node) {
            act(self, node);
        }
    }

    fn tell(&mut self, server: u8, client: u8) {
        let life = self.servers[usize::from(server)].as_ref();
        let token = life.and_then(|life| life.table.token_of(client));
        self.client(client).told = token;
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
        let nodes: Vec<Node> = self.servers.iter().flatten().map(|life| life.node).collect();
        nodes.into_iter().for_each(|node| self.untold(node, limits));
    }
}
