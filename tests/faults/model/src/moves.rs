//! Models the server actions other than appends: handling requests, renewing, heartbeats, marking dead, adopting,
//! ending. It stands for `server/src/grpc/sessions.rs`, `server/src/node/heartbeat.rs`, `server/src/node/adoption.rs`
//! and `server/core/src/home.rs`.

use crate::action::{Action, Server};
use crate::client::{Answer, Kind, Note, Request, Stage};
use crate::flaw::Flaw;
use crate::limits::Limits;
use crate::server::{Instance, Seen};
use crate::store::ServerRecord;
use crate::table::{Client, Command, Node};
use crate::world::World;

impl Instance {
    /// Renews a session if this node is its home and its TTL has not elapsed. `Home::renew`.
    pub fn renew(&mut self, client: Client, limits: &Limits) -> Note {
        let Some(timer) = self.timer(client) else { return Note::NotHome };
        timer.over |= timer.left == 0;
        if timer.over && !limits.has(Flaw::RenewalRevives) {
            return Note::Over;
        }
        (timer.left, timer.over) = (limits.ttl, false);
        Note::Renewed
    }

    fn may_renew(&self, limits: &Limits) -> bool {
        self.lease > 0 || limits.has(Flaw::LeaseIgnored)
    }
}

impl World {
    /// The actions that servers can take now.
    pub fn server_actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        for (server, instance) in (0..).zip(&self.servers) {
            let Some(instance) = instance else { continue };
            let free = self.is_free(instance);
            if free && (instance.table.revision != self.store.head.revision || !self.store.intact) {
                actions.push(Action::Follow(server));
            }
            for (client, caller) in (0..).zip(&self.clients) {
                self.requests(instance, free, client, actions);
                let skips = caller.pending_grant.is_some()
                    || !caller.waits
                    || caller.stream != Some(instance.node)
                    || !caller.lives;
                if !skips && instance.table.token_of(client).is_some() {
                    actions.push(Action::SendGrant(server, client));
                }
                let timer = instance.timers[usize::from(client)];
                if free && instance.lease > 0 && timer.is_some_and(|timer| timer.left == 0 || timer.over) {
                    actions.push(Action::End(server, client));
                }
            }
            actions.extend(
                (instance.heartbeat.is_none() && !instance.has_sent_heartbeat).then_some(Action::Heartbeat(server)),
            );
            let silent = instance.others.iter().filter(|seen| seen.age >= limits.dead_after());
            actions.extend(silent.map(|seen| Action::MarkDead(server, seen.node)));
            // An adopting server has just sent a heartbeat, and so is not marked dead itself.
            let alive = !self.store.server_records[usize::from(instance.node)].dead;
            if free && alive && !limits.has(Flaw::NoAdoption) {
                let dead = |node: &Node| self.store.server_records[usize::from(*node)].dead && *node != instance.node;
                let first = instance.table.homes().find(dead);
                actions.extend(first.map(|node| Action::Adopt(server, node)));
            }
            let waits = instance.job.as_ref().is_some_and(|job| !job.sent) && !limits.has(Flaw::UnknownIsForgotten);
            if waits && self.store.in_progress[usize::from(instance.node)].is_none() {
                actions.push(Action::Retry(server));
            }
        }
        for (node, in_progress) in (0..).zip(&self.store.in_progress) {
            actions.extend(in_progress.as_ref().map(|_| Action::Append(node)));
        }
    }

    fn requests(&self, instance: &Instance, free: bool, client: Client, actions: &mut Vec<Action>) {
        let Some(request) = self.clients[usize::from(client)].request.filter(|request| request.to == instance.node)
        else {
            return;
        };
        match request {
            Request { stage: Stage::Sent, kind: Kind::Renew, .. } => actions.push(Action::Handle(client)),
            Request { stage: Stage::Sent, .. } if free && self.can_decide(client, instance) => {
                actions.push(Action::Handle(client));
            }
            Request { stage: Stage::Noted(_), .. } if free && self.store.intact => {
                actions.push(Action::Confirm(client))
            }
            _ => {}
        }
    }

    /// Whether the decision requires no read of the log that is impossible now: after a failover, the jump comes first.
    fn can_decide(&self, client: Client, instance: &Instance) -> bool {
        self.store.intact || instance.timers[usize::from(client)].is_none_or(|timer| timer.left > 0 && !timer.over)
    }

    /// A server handles a client's request.
    pub fn handle(&mut self, client: Client, limits: &Limits) {
        let Some(request) = self.client(client).request else { return };
        let node = request.to;
        self.take(client, Stage::Taken);
        let Some(instance) = self.instance(node) else { return };
        match request.kind {
            Kind::Renew if !instance.may_renew(limits) => self.answer(node, Some(client), Answer::Rejected),
            Kind::Renew => {
                let note = self.note(client, node, limits);
                if limits.calls && !(limits.has(Flaw::CallWithoutBarrier) && note == Note::Renewed) {
                    return self.take(client, Stage::Noted(note));
                }
                let answer = match note {
                    Note::Renewed => Answer::Renewed,
                    Note::Over => Answer::Over,
                    Note::NotHome => Answer::Rejected,
                };
                self.answer(node, Some(client), answer);
            }
            Kind::Acquire => self.decide_with_renewal(client, Command::Acquire { client, home: node }, limits),
            Kind::Move => self.decide_with_renewal(client, Command::Move { client, home: node }, limits),
            Kind::Release(token) => self.begin(node, Command::Release { client, token }, Some(client), limits),
        }
    }

    /// Notes that the client is alive, and decides its command. `Api::note_presence`.
    fn decide_with_renewal(&mut self, client: Client, command: Command, limits: &Limits) {
        let Some(node) = self.client(client).request.map(|request| request.to) else { return };
        if self.note(client, node, limits) == Note::Over {
            self.catch_up(node, limits);
            if self.is_home(client, node) {
                return self.answer(node, Some(client), Answer::Over);
            }
        }
        self.begin(node, command, Some(client), limits);
    }

    /// Notes a renewal in the node's memory.
    fn note(&mut self, client: Client, node: Node, limits: &Limits) -> Note {
        let note = self.instance(node).map_or(Note::NotHome, |instance| instance.renew(client, limits));
        if note == Note::Renewed {
            self.account.taken(client, node, &self.store);
        }
        note
    }

    fn is_home(&self, client: Client, node: Node) -> bool {
        self.store.head.session(client).is_some_and(|session| session.home == node)
    }

    fn take(&mut self, client: Client, stage: Stage) {
        if let Some(request) = &mut self.client(client).request {
            request.stage = stage;
        }
    }

    /// A server replies to a renewal call, after it has read the log's head. `Api::renew_anywhere`.
    pub fn confirm(&mut self, client: Client, limits: &Limits) {
        let Some(Request { to: node, stage: Stage::Noted(note), .. }) = self.client(client).request else { return };
        self.catch_up(node, limits);
        match note {
            Note::Renewed if self.is_home(client, node) => self.answer(node, Some(client), Answer::Renewed),
            Note::Over if self.is_home(client, node) => self.answer(node, Some(client), Answer::Over),
            _ => self.begin(node, Command::Move { client, home: node }, Some(client), limits),
        }
    }

    /// The home ends a session whose TTL has elapsed.
    pub fn end(&mut self, server: Server, client: Client, limits: &Limits) {
        let Some(instance) = &mut self.servers[usize::from(server)] else { return };
        let home = instance.node;
        let Some(timer) = instance.timer(client) else { return };
        timer.over = true;
        let opened = timer.opened;
        self.begin(home, Command::End { client, opened, home }, None, limits);
    }

    /// A server sends a heartbeat.
    pub fn heartbeat(&mut self, server: Server) {
        if let Some(instance) = &mut self.servers[usize::from(server)] {
            (instance.heartbeat, instance.has_sent_heartbeat) = (Some(0), true);
        }
    }

    /// A heartbeat is committed; `answered` unless the response is lost. `Heartbeats::heartbeat_once`.
    pub fn heartbeat_arrives(&mut self, server: Server, answered: bool, limits: &Limits) {
        let Some(instance) = &mut self.servers[usize::from(server)] else { return };
        let Some(age) = instance.heartbeat.take() else { return };
        let record = &mut self.store.server_records[usize::from(instance.node)];
        if !record.dead {
            record.heartbeat += 1;
        }
        if !answered {
            return;
        }
        if record.dead && !limits.has(Flaw::DeadHeartbeatsOn) {
            // The server restarts under a new id.
            let instance = self.start(limits);
            self.servers[usize::from(server)] = Some(instance);
            return;
        }
        if instance.lease == 0 {
            instance.refresh(limits);
        }
        instance.lease = instance.lease.max(limits.lease_validity().saturating_sub(age));
        instance.look_at(&self.store.server_records);
    }

    /// A server marks a silent server dead, if the heartbeat has not changed.
    pub fn mark_dead(&mut self, server: Server, node: Node, limits: &Limits) {
        let Some(instance) = &mut self.servers[usize::from(server)] else { return };
        let Some(index) = instance.others.iter().position(|seen| seen.node == node) else { return };
        let seen = instance.others.remove(index);
        let record = &mut self.store.server_records[usize::from(node)];
        record.dead |= record.heartbeat == seen.heartbeat || limits.has(Flaw::DeadWithoutCondition);
    }
}

impl Instance {
    /// Observes the other servers' heartbeats. `Heartbeats::look_at`.
    pub fn look_at(&mut self, server_records: &[ServerRecord]) {
        for (node, record) in (0..).zip(server_records).filter(|(node, _)| *node != self.node) {
            let seen = self.others.iter_mut().find(|seen| seen.node == node);
            match seen {
                Some(seen) if seen.heartbeat != record.heartbeat => (seen.heartbeat, seen.age) = (record.heartbeat, 0),
                Some(_) => {}
                None => self.others.push(Seen { node, heartbeat: record.heartbeat, age: 0 }),
            }
        }
        self.others.retain(|seen| !server_records[usize::from(seen.node)].dead);
        self.others.sort_by_key(|seen| seen.node);
    }
}
