//! The world of plain calls: the state of everything, and what can happen next.

use stateright::{Model, Property};

use super::action::Action;
use super::limits::{Budget, Limits};
use super::properties;
use super::table::{Claim, Client, Command, Event, Id, Reason, Server, Table};

/// So many batches before those that all servers have seen may still be loaded as rows.
const ROWS_BEHIND: usize = 3;

/// The state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The table as of before `tail`.
    pub base: Table,
    /// The last batches of the log.
    pub tail: Vec<Vec<Event>>,
    /// The table at the log's head.
    pub head: Table,
    /// The servers. None: it has crashed.
    pub servers: Vec<Option<Life>>,
    /// The calls under way. Those that wait at the same server stand in the order in which they began to.
    pub calls: Vec<Call>,
    /// The clients.
    pub clients: Vec<Program>,
    /// What may still happen.
    pub budget: Budget,
    /// Whether a call that its client had cancelled before made a claim.
    pub cancel_overtaken: bool,
    /// Whether a claim was cancelled while the call waited that had asked for it last.
    pub place_lost: bool,
}

/// A server: what it has in memory. `server/src/sequencer/desk.rs`, `server/core/src/home.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Life {
    /// How many batches of the tail its table shows.
    pub at: usize,
    /// The claims that it is going to cancel because no call attends to them.
    pub unattended: Vec<Id>,
    /// Commands to be decided for calls that have gone, or go on meanwhile.
    pub commands: Vec<Command>,
    /// It has loaded its table anew, and not been at the log's head since.
    pub is_behind: bool,
}

/// An Acquire under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Whose.
    pub client: Client,
    /// The server that has received it.
    pub server: Server,
    /// How many of its client's cancels the server knew then.
    pub seen: u8,
    /// Whether it waits if need be.
    pub queue: bool,
    /// Another server has decided it for this one, which has yet to find out what came of it: whether the claim was
    /// held before.
    pub passed: Option<bool>,
    /// Its client has left it.
    pub left: bool,
    /// Its client has cancelled it.
    pub cancelled: bool,
    /// How far it is.
    pub stage: Stage,
}

/// How far an Acquire is. `server/src/grpc/acquire.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// To be decided.
    Received,
    /// It waits for this claim.
    Waiting(Id),
    /// Its time is up. It ends the wait unless a later call waits at the server.
    TimedOut {
        /// The claim.
        id: Id,
        /// Whether it is to end the wait.
        ends: bool,
        /// What became of the claim, if that was noticed before.
        notice: Option<Notice>,
    },
    /// It has a grant, and attends to it until it is returned.
    Granted(Claim, bool),
    /// It has a grant for a call at another server, which is to be acknowledged first, and attends to it.
    Acknowledging(Id, bool),
    /// Its answer is on the way.
    Answered(Answer),
}

/// What a call learns that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The claim was granted. Whether the call attends to the grant.
    Granted(bool),
    /// The claim ended.
    Ended(Reason),
    /// The claim ended with the wait of an earlier call: ask again.
    Again,
}

/// The answer to an Acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The claim is held.
    Held(Id),
    /// The wait was over, or there was none.
    Busy,
    /// The Acquire was cancelled.
    Cancelled,
    /// The claim ended.
    Ended,
}

/// A client: what it may still do, and what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// How many Acquires it may still send.
    pub acquires: u8,
    /// The hold that it has been granted and has not released.
    pub hold: Option<Id>,
    /// The number of the first claim that it has not released, cancelled or lost with its session.
    pub first: u8,
    /// It has cancelled its Acquires, and not sent another since.
    pub has_cancelled: bool,
    /// The claim may have outlived a call: one was left, or its answer lost.
    pub has_left: bool,
    /// A grant was lost that a server had returned, so that it may stay held.
    pub has_lost_grant: bool,
}

impl Call {
    /// Whether it waits for a claim. `Callers::waiting`.
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

    /// Whether it attends to a grant that it has not returned yet. `Callers::receiving`.
    #[must_use]
    pub fn receives(&self, id: Id) -> bool {
        match self.stage {
            Stage::Granted(claim, attends) => claim.id == id && attends,
            Stage::Acknowledging(of, attends) => of == id && attends,
            Stage::TimedOut { id: of, notice: Some(Notice::Granted(attends)), .. } => of == id && attends,
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
            servers: vec![Some(Life::default()); limits.servers.into()],
            calls: Vec::new(),
            budget: limits.budget,
            cancel_overtaken: false,
            place_lost: false,
        }
    }

    /// A server, if it runs.
    #[must_use]
    pub fn life(&self, server: Server) -> Option<&Life> {
        self.servers[usize::from(server)].as_ref()
    }

    /// The servers that run.
    pub fn running(&self) -> impl Iterator<Item = (Server, &Life)> {
        (0..).zip(&self.servers).filter_map(|(server, life)| Some((server, life.as_ref()?)))
    }

    /// The table after so many batches of the tail.
    #[must_use]
    pub fn table_at(&self, at: usize, limits: &Limits) -> Table {
        if at == self.tail.len() {
            return self.head.clone();
        }
        let mut table = self.base.clone();
        self.tail[..at].iter().flatten().for_each(|event| table.apply(*event, limits.flaw));
        table
    }

    /// Whether nothing happens by itself any more.
    #[must_use]
    pub fn is_quiet(&self, limits: &Limits) -> bool {
        let mut actions = Vec::new();
        self.server_actions(limits, &mut actions);
        self.deliveries(&mut actions);
        actions.is_empty()
    }

    /// Brings what differs in nothing that matters to one form.
    fn normalize(&mut self, limits: &Limits) {
        let (head, calls, length) = (&self.head, &self.calls, self.tail.len());
        let is_there = |id: &Id| head.claim(*id).is_some();
        for (server, life) in (0..).zip(&mut self.servers) {
            let Some(life) = life else { continue };
            life.unattended.retain(is_there);
            life.commands.retain(|command| match command {
                Command::EndWait(id) | Command::Acknowledge(id) => is_there(id),
                _ => true,
            });
            life.unattended.sort_unstable();
            life.commands.sort_unstable();
            // A server that has nothing in memory may as well see at once what makes no difference to it.
            let idle = !life.is_behind && life.unattended.is_empty() && life.commands.is_empty();
            if idle && !calls.iter().any(|call| call.server == server) {
                let matters = |event: &Event| match event {
                    Event::Cancelled { .. } => true,
                    Event::Adopted { by, .. } => *by == server,
                    Event::Attached { home, .. } => *home == server && limits.flaw.is_some(),
                    _ => false,
                };
                while life.at < length && !self.tail[life.at].iter().any(matters) {
                    life.at += 1;
                }
            }
        }
        let slack = if self.budget.reloads > 0 { ROWS_BEHIND } else { 0 };
        let seen = self.running().map(|(_, life)| life.at).min().unwrap_or_default();
        let gone = seen.saturating_sub(slack);
        self.tail.drain(..gone).flatten().for_each(|event| self.base.apply(event, limits.flaw));
        self.servers.iter_mut().flatten().for_each(|life| life.at -= gone);
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
        world.mishaps(actions);
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
