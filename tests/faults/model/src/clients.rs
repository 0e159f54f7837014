//! Models the clients: `client-rs/src/protocol`.

use crate::action::{Action, Server};
use crate::client::{Answer, Kind, Request, Stage};
use crate::flaw::Flaw;
use crate::limits::Limits;
use crate::table::{self, Node, Revision};
use crate::world::World;

impl World {
    /// The actions that clients can take now.
    pub fn client_actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        for (id, client) in (0..).zip(&self.clients).filter(|(_, client)| client.lives) {
            let is_gone = |node: Node| !self.runs(node);
            match client.request {
                Some(Request { stage: Stage::Answered(_), .. }) => actions.push(Action::ReceiveReply(id)),
                Some(request) if is_gone(request.to) => actions.push(Action::Notice(id)),
                Some(_) => {}
                None if client.stream.is_some_and(is_gone) => actions.push(Action::Notice(id)),
                None if !client.has_sent_request => self.possible_requests(id, limits, actions),
                None => {}
            }
            if client.pending_grant.is_some() {
                actions.push(Action::ReceiveGrant(id));
            }
        }
    }

    fn possible_requests(&self, id: table::Client, limits: &Limits, actions: &mut Vec<Action>) {
        let client = &self.clients[usize::from(id)];
        let running = || {
            (0..)
                .zip(&self.servers)
                .filter_map(|(server, instance)| instance.as_ref().map(|instance| (server, instance)))
        };
        if client.is_new {
            actions.extend(running().map(|(server, _)| Action::Acquire(id, server)));
        } else if limits.calls {
            // A client that calls by hand does not track the validity of its session.
            actions.extend(running().map(|(server, _)| Action::Renew(id, server)));
        } else if !client.over {
            actions.extend(running().filter_map(|(server, instance)| match client.stream {
                None => Some(Action::Move(id, server)),
                Some(node) => (node == instance.node).then_some(Action::Renew(id, server)),
            }));
        }
    }

    /// Sends a client's request. A client that moves to another server receives no reply to its earlier request.
    pub fn send_request(&mut self, id: table::Client, server: Server, kind: Kind) {
        let Some(to) = self.servers[usize::from(server)].as_ref().map(|instance| instance.node) else { return };
        let client = self.client(id);
        if kind == Kind::Move {
            client.disconnect();
        }
        client.request = Some(Request { kind, to, age: 0, stage: Stage::Sent });
        client.has_sent_request = true;
    }

    /// Releases the lock. From now on the client does not act as its holder.
    pub fn release(&mut self, id: table::Client) {
        let client = &self.clients[usize::from(id)];
        let (Some(token), Some(node)) = (client.hold, client.stream) else { return };
        let Some(server) = (0..)
            .zip(&self.servers)
            .find(|(_, instance)| instance.as_ref().is_some_and(|instance| instance.node == node))
        else {
            return;
        };
        self.send_request(id, server.0, Kind::Release(token));
        self.client(id).hold = None;
    }

    /// Processes the reply to a client's request.
    pub fn receive_reply(&mut self, id: table::Client, limits: &Limits) {
        let Some(Request { kind, to, age, stage: Stage::Answered(answer) }) = self.client(id).request.take() else {
            return;
        };
        match answer {
            Answer::Open(token, waits) => {
                self.renewed(id, age, limits);
                let client = self.client(id);
                let wants_lock = client.waits || kind == Kind::Acquire;
                client.is_new = false;
                client.stream = Some(to);
                client.waits = waits && wants_lock;
                client.hold = client.hold.filter(|hold| token == Some(*hold));
                if let Some(token) = token.filter(|_| wants_lock) {
                    self.granted(id, token);
                }
            }
            Answer::Renewed => self.renewed(id, age, limits),
            Answer::Released => {}
            Answer::Over => {
                let client = self.client(id);
                client.disconnect();
                (client.is_new, client.over, client.left) = (false, true, 0);
                (client.hold, client.waits) = (None, false);
            }
            Answer::Rejected | Answer::Unknown => self.client(id).stream = None,
        }
    }

    /// Processes a grant that arrived on the client's stream.
    pub fn receive_grant(&mut self, id: table::Client) {
        if let Some(token) = self.client(id).pending_grant.take() {
            self.granted(id, token);
        }
    }

    fn granted(&mut self, id: table::Client, token: Revision) {
        let client = self.client(id);
        client.waits = false;
        if !client.over {
            client.hold = Some(token);
            client.has_held = true;
        }
    }

    /// Processes an acknowledged renewal that was sent `age` ticks ago. `Validity::renewed`.
    fn renewed(&mut self, id: table::Client, age: u8, limits: &Limits) {
        let good = limits.client_validity().saturating_sub(age);
        let client = self.client(id);
        let received = if limits.has(Flaw::ValidFromReceipt) { limits.client_validity() } else { good };
        let revives = limits.has(Flaw::LateAnswerRevives);
        if !client.over || revives {
            client.left = client.left.max(received);
            client.over |= client.left == 0;
        }
        if !client.over || limits.calls {
            self.account.promise(id, good);
        }
    }
}
