//! Defines the state of the model and its transitions.

use stateright::{Model, Property};

use crate::action::Action;
use crate::client::Client;
use crate::limits::{Budget, Limits};
use crate::properties::{self, Account};
use crate::server::Instance;
use crate::store::Store;
use crate::table::{self, Command, Node};

/// State of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Elapsed ticks.
    pub now: u8,
    /// The database.
    pub store: Store,
    /// The servers. `None` if a server is down.
    pub servers: Vec<Option<Instance>>,
    /// The clients.
    pub clients: Vec<Client>,
    /// Remaining optional events.
    pub budget: Budget,
    /// Bookkeeping that the properties are evaluated on.
    pub account: Account,
}

impl World {
    fn new(limits: &Limits) -> Self {
        let mut world = Self {
            now: 0,
            store: Store::new(limits.clients),
            servers: Vec::new(),
            clients: vec![Client::new(); limits.clients.into()],
            budget: limits.budget,
            account: Account::new(limits),
        };
        world.servers = (0..limits.servers).map(|_| Some(world.start(limits))).collect();
        for instance in world.servers.iter_mut().flatten() {
            instance.look_at(&world.store.server_records);
        }
        if limits.begun {
            world.have_begun(limits);
        }
        world
    }

    /// Starts a server: it registers and loads the current state.
    pub fn start(&mut self, limits: &Limits) -> Instance {
        let node = self.store.register();
        let mut instance = Instance::new(node, self.store.head.clone(), limits);
        instance.rebuild(limits);
        instance
    }

    /// Starts with every client's request for the lock already answered. Clients are distributed over the servers in
    /// turn.
    fn have_begun(&mut self, limits: &Limits) {
        for client in 0..limits.clients {
            let server = usize::from(client % limits.servers);
            let node = server as Node;
            let command = Command::Acquire { client, home: node };
            let batch = {
                let Some(instance) = &mut self.servers[server] else { continue };
                instance.batch(self.store.head.decide(command, None), self.store.head.revision)
            };
            self.commit(&batch, limits);
            for instance in self.servers.iter_mut().flatten() {
                instance.take_over(&batch, limits);
            }
            let token = self.store.head.token_of(client);
            self.account.promise(client, limits.client_validity());
            let caller = &mut self.clients[usize::from(client)];
            caller.is_new = false;
            caller.left = limits.client_validity();
            caller.stream = Some(node);
            (caller.hold, caller.waits, caller.has_held) = (token, token.is_none(), token.is_some());
        }
    }

    /// The running server with this id.
    pub fn instance(&mut self, node: Node) -> Option<&mut Instance> {
        self.servers.iter_mut().flatten().find(|instance| instance.node == node)
    }

    /// Whether the server with this id runs.
    #[must_use]
    pub fn runs(&self, node: Node) -> bool {
        self.servers.iter().flatten().any(|instance| instance.node == node)
    }

    /// The state of a client.
    pub fn client(&mut self, client: table::Client) -> &mut Client {
        &mut self.clients[usize::from(client)]
    }

    /// Advances all clocks by a tick.
    pub fn tick(&mut self, limits: &Limits) {
        self.now += 1;
        self.account.tick(&self.store, &self.servers);
        for client in &mut self.clients {
            client.over |= client.left == 1;
            client.left = client.left.saturating_sub(1);
            client.has_sent_request = false;
            if let Some(request) = &mut client.request {
                request.age = (request.age + 1).min(limits.ttl);
            }
        }
        self.servers.iter_mut().flatten().for_each(|instance| instance.tick(limits));
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
        world.server_actions(self, actions);
        let idle = actions.is_empty();
        if world.now + self.calm <= self.ticks {
            world.faults(self, actions);
        }
        if world.now < self.ticks && (idle || !self.prompt) {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.act(action, self);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::of(self)
    }
}
