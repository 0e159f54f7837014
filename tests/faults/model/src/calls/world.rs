//! Defines the state of the model of plain calls and its transitions.

use stateright::{Model, Property};

use super::action::Action;
use super::limits::{Budget, Limits};
use super::properties;
use super::table::{Claim, Client, Command, Event, Id, Reason, Server, Table};

/// A table may be loaded from rows that are up to this many batches older than what all servers have seen.
const ROWS_BEHIND: usize = 3;

/// State of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The table before `tail`.
    pub base: Table,
    /// The last batches of the log.
    pub tail: Vec<Vec<Event>>,
    /// The table at the log's head.
    pub head: Table,
    /// The servers. `None` if a server has crashed.
    pub servers: Vec<Option<Instance>>,
    /// The calls in progress. Calls that wait at one server are in the order in which they began to wait.
    pub calls: Vec<Call>,
    /// The clients.
    pub clients: Vec<Program>,
    /// Remaining optional events.
    pub budget: Budget,
    /// Whether a call made a claim after its client had cancelled it.
    pub cancel_overtaken: bool,
    /// Whether a claim was cancelled while the call that last asked for it was waiting.
    pub position_lost: bool,
}

/// In-memory state of a server. `server/src/sequencer/local.rs`, `server/core/src/home.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Number of batches of the tail that its table includes.
    pub at: usize,
    /// Claims that it will cancel because no call is registered for them.
    pub abandoned: Vec<Id>,
    /// Commands to decide whose calls have ended or do not wait for the outcome.
    pub commands: Vec<Command>,
    /// It has reloaded its table and not yet caught up with the log's head.
    pub is_behind: bool,
}

/// An Acquire in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The calling client.
    pub client: Client,
    /// The server that received it.
    pub server: Server,
    /// Number of the client's cancels that the server knew at that time.
    pub seen: u8,
    /// Whether it waits for a held lock.
    pub queue: bool,
    /// Set if another server has decided it and this server has yet to learn the outcome: whether the claim was held
    /// before.
    pub forwarded: Option<bool>,
    /// Its client has abandoned it.
    pub left: bool,
    /// Its client has cancelled it.
    pub cancelled: bool,
    /// Its progress.
    pub stage: Stage,
}

/// Progress of an Acquire. `server/src/grpc/acquire.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Not decided yet.
    Received,
    /// Waits for this claim.
    Waiting(Id),
    /// Timed out. It ends the wait unless a later call waits at the server.
    TimedOut {
        /// The claim.
        id: Id,
        /// Whether it has to end the wait.
        ends: bool,
        /// The outcome of the claim, if it became known before.
        notice: Option<Notice>,
    },
    /// Has a grant; the flag says whether it is registered until it is returned.
    Granted(Claim, bool),
    /// Has a grant that was made for a call at another server and must be acknowledged first; the flag says whether it
    /// is registered for it.
    Acknowledging(Id, bool),
    /// Its reply is on the way.
    Answered(Answer),
}

/// Notification of a waiting call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The claim was granted. The flag says whether the call is registered for the grant.
    Granted(bool),
    /// The claim ended.
    Ended(Reason),
    /// The claim ended with the wait of an earlier call; the Acquire must be sent again.
    Again,
}

/// Reply to an Acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The claim is held.
    Held(Id),
    /// The wait timed out, or the call did not wait.
    Busy,
    /// The Acquire was cancelled.
    Cancelled,
    /// The claim ended.
    Ended,
}

/// A client: its remaining actions and its knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// Number of Acquires that it may still send.
    pub acquires: u8,
    /// The hold that it was granted and has not released.
    pub hold: Option<Id>,
    /// Number of its first claim that it has not released, cancelled or lost with its session.
    pub first: u8,
    /// It has cancelled its Acquires and sent none since.
    pub has_cancelled: bool,
    /// A claim may have outlived its call, because a call was abandoned or its reply lost.
    pub has_left: bool,
    /// A grant that a server had returned was lost, so it may stay held.
    pub has_lost_grant: bool,
}

impl Call {
    /// Whether it waits for a claim. `WaiterRegistry::waiting_claims`.
    #[must_use]
    pub fn waits_for(&self, id: Id) -> bool {
        matches!(self.stage, Stage::Waiting(of) | Stage::TimedOut { id: of, notice: None, .. } if of == id)
    }

    /// The claim whose grant it has.
    #[must_use]
    pub fn grant(&self) -> Option<Id> {
        match self.stage {
            Stage::Granted(Claim { id, .. }, _)
            | Stage::Acknowledging(id, _)
            | Stage::TimedOut { id, notice: Some(Notice::Granted(_)), .. } => Some(id),
            _ => None,
        }
    }

    /// Whether it is registered for a grant that it has not returned yet. `PendingGrant`.
    #[must_use]
    pub fn has_pending_grant(&self, id: Id) -> bool {
        match self.stage {
            Stage::Granted(claim, is_pending) => claim.id == id && is_pending,
            Stage::Acknowledging(of, is_pending) => of == id && is_pending,
            Stage::TimedOut { id: of, notice: Some(Notice::Granted(is_pending)), .. } => of == id && is_pending,
            _ => false,
        }
    }
}

impl World {
    fn new(limits: &Limits) -> Self {
        let base = Table::new(limits.clients, limits.servers);
        let program = |client| Program {
            acquires: if client == 0 { limits.again } else { limits.acquires },
            hold: base.holder.map(|claim| claim.id).filter(|id| id.client == client),
            first: 0,
            has_cancelled: false,
            has_left: false,
            has_lost_grant: false,
        };
        Self {
            clients: (0..limits.clients).map(program).collect(),
            head: base.clone(),
            base,
            tail: Vec::new(),
            servers: vec![Some(Instance::default()); limits.servers.into()],
            calls: Vec::new(),
            budget: limits.budget,
            cancel_overtaken: false,
            position_lost: false,
        }
    }

    /// A server, if it is up.
    #[must_use]
    pub fn instance(&self, server: Server) -> Option<&Instance> {
        self.servers[usize::from(server)].as_ref()
    }

    /// The servers that are up.
    pub fn running(&self) -> impl Iterator<Item = (Server, &Instance)> {
        (0..).zip(&self.servers).filter_map(|(server, instance)| Some((server, instance.as_ref()?)))
    }

    /// The table after this many batches of the tail.
    #[must_use]
    pub fn table_at(&self, at: usize, limits: &Limits) -> Table {
        if at == self.tail.len() {
            return self.head.clone();
        }
        let mut table = self.base.clone();
        self.tail[..at].iter().flatten().for_each(|event| table.apply(*event, limits.flaw));
        table
    }

    /// Whether no further action happens by itself.
    #[must_use]
    pub fn is_quiet(&self, limits: &Limits) -> bool {
        let mut actions = Vec::new();
        self.server_actions(limits, &mut actions);
        self.deliveries(&mut actions);
        actions.is_empty()
    }

    /// Normalizes differences that do not matter, so that equivalent states are equal.
    fn normalize(&mut self, limits: &Limits) {
        let (head, calls, length) = (&self.head, &self.calls, self.tail.len());
        let is_there = |id: &Id| head.claim(*id).is_some();
        for (server, instance) in (0..).zip(&mut self.servers) {
            let Some(instance) = instance else { continue };
            instance.abandoned.retain(is_there);
            instance.commands.retain(|command| match command {
                Command::EndWait(id) | Command::Acknowledge(id) => is_there(id),
                _ => true,
            });
            instance.abandoned.sort_unstable();
            instance.commands.sort_unstable();
            // A server without in-memory state may apply at once the batches that make no difference to it.
            let idle = !instance.is_behind && instance.abandoned.is_empty() && instance.commands.is_empty();
            if idle && !calls.iter().any(|call| call.server == server) {
                let matters = |event: &Event| match event {
                    Event::Cancelled { .. } => true,
                    Event::Adopted { by, .. } => *by == server,
                    Event::Moved { home, .. } => *home == server && limits.flaw.is_some(),
                    _ => false,
                };
                while instance.at < length && !self.tail[instance.at].iter().any(matters) {
                    instance.at += 1;
                }
            }
        }
        let slack = if self.budget.reloads > 0 { ROWS_BEHIND } else { 0 };
        let seen = self.running().map(|(_, instance)| instance.at).min().unwrap_or_default();
        let gone = seen.saturating_sub(slack);
        self.tail.drain(..gone).flatten().for_each(|event| self.base.apply(event, limits.flaw));
        self.servers.iter_mut().flatten().for_each(|instance| instance.at -= gone);
    }
}

impl Model for Limits {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.client_actions(self, actions);
        world.deliveries(actions);
        world.server_actions(self, actions);
        world.faults(actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.act(action, self);
        next.normalize(self);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
