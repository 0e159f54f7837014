//! Runs the world (hosts, the network between them, and the database) event by event in one thread.
//!
//! No message arrives in less than [`MIN_DELAY`]. Each host can therefore run alone for that long: nothing that other
//! hosts do in the meantime can reach it earlier.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tonic::service::Routes;

use crate::database::{DATABASE, Database};
use crate::defect::Defect;
use crate::host::{ClockSettings, Host, HostContext, HostId};
use crate::network::{Connection, Fate, IDLE_TIMEOUT, MIN_DELAY, Network, Side};
use crate::outbox::{Action, Outbox, Route, Sent};
use crate::wire::Called;

/// Interval between checks for connections with held-back messages.
const PROBE: Duration = Duration::from_millis(500);

/// An action to run at a given time.
struct Event {
    at: Duration,
    order: u64,
    /// The host where the action runs, and the run of that host. If that run has ended, the action is dropped.
    target: Option<(HostId, u64)>,
    action: Action,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// The services of a host.
struct Services {
    context: HostContext,
    routes: Routes,
}

/// The simulated world.
pub struct World {
    now: Duration,
    order: u64,
    events: BinaryHeap<Reverse<Event>>,
    /// Events that arrived at frozen hosts.
    waiting: BTreeMap<HostId, Vec<Event>>,
    hosts: Vec<Host>,
    outbox: Outbox,
    defect: Option<Defect>,
    /// Source of the world's random choices.
    pub rng: StdRng,
    /// The network.
    pub network: Network,
    services: BTreeMap<HostId, Services>,
    /// The database.
    pub database: Database,
    /// Injected faults, with their times.
    pub faults: Vec<(Duration, String)>,
    /// Number of events so far.
    pub steps: u64,
    /// Digest of all events. Identical runs have identical digests.
    pub trace: u64,
}

impl World {
    /// Creates an empty world, with a defect or without.
    #[must_use]
    pub fn new(seed: u64, defect: Option<Defect>) -> Self {
        let mut world = Self {
            now: Duration::ZERO,
            order: 0,
            events: BinaryHeap::new(),
            waiting: BTreeMap::new(),
            hosts: Vec::new(),
            outbox: Outbox::default(),
            defect,
            rng: StdRng::seed_from_u64(seed),
            network: Network::default(),
            services: BTreeMap::new(),
            database: Database::default(),
            faults: Vec::new(),
            steps: 0,
            trace: seed,
        };
        world.after(PROBE, Self::probe);
        world
    }

    /// Current time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Adds a host that is not running yet.
    pub fn add_host(&mut self, clock: ClockSettings) -> HostId {
        let id = self.hosts.len();
        self.hosts.push(Host::new(id, clock));
        id
    }

    /// Returns a host.
    #[must_use]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id]
    }

    /// Starts a host with a program.
    pub fn start<P>(&mut self, id: HostId, program: impl FnOnce(HostContext) -> P)
    where
        P: Future<Output = ()> + Send + 'static,
    {
        let (now, outbox, defect) = (self.now, self.outbox.clone(), self.defect);
        self.hosts[id].start(now, &outbox, defect, program);
    }

    /// Kills a host at once. Peers notice after a network delay, or after [`IDLE_TIMEOUT`] if its machine is gone.
    pub fn kill(&mut self, id: HostId, with_machine: bool) {
        self.hosts[id].kill();
        self.services.remove(&id);
        for connection in self.network.of(Some(id)) {
            let other = if connection.caller == id { Side::Called } else { Side::Caller };
            let delay = if with_machine { IDLE_TIMEOUT } else { self.network.delay(&mut self.rng) };
            self.network.forget(&connection);
            self.break_side(&connection, other, delay);
        }
    }

    /// Freezes a host.
    pub fn freeze(&mut self, id: HostId) {
        self.hosts[id].is_frozen = true;
    }

    /// Thaws a frozen host and delivers the events that arrived in the meantime.
    pub fn thaw(&mut self, id: HostId) {
        let now = self.now;
        self.hosts[id].thaw(now);
        for event in self.waiting.remove(&id).unwrap_or_default() {
            self.add(now, event.target, event.action);
        }
    }

    /// Sets a host's wall clock.
    pub fn set_wall(&mut self, id: HostId, wall: Duration) {
        self.hosts[id].set_wall(wall);
    }

    /// Registers the services of a host.
    pub fn register_services(&mut self, context: HostContext, routes: Routes) {
        self.services.insert(context.host, Services { context, routes });
    }

    /// Schedules an action.
    pub fn after(&mut self, delay: Duration, action: impl FnOnce(&mut Self) + Send + 'static) {
        let at = self.now + delay;
        self.add(at, None, Box::new(action));
    }

    pub(crate) fn add(&mut self, at: Duration, target: Option<(HostId, u64)>, action: Action) {
        self.order += 1;
        self.events.push(Reverse(Event { at, order: self.order, target, action }));
    }

    /// Advances the world to this time.
    pub fn run_until(&mut self, end: Duration) {
        while self.now < end {
            let next = (self.now + MIN_DELAY).min(end);
            while self.events.peek().is_some_and(|Reverse(event)| event.at < next) {
                let Some(Reverse(event)) = self.events.pop() else { break };
                self.process_event(event);
            }
            self.now = next;
            for host in 0..self.hosts.len() {
                self.run_host(host, next);
            }
        }
    }

    fn run_host(&mut self, host: HostId, until: Duration) {
        self.hosts[host].run_until(until);
        self.collect();
    }

    fn process_event(&mut self, event: Event) {
        self.now = self.now.max(event.at);
        self.steps += 1;
        if let Some((host, run)) = event.target {
            if self.hosts[host].run != run {
                return;
            }
            if self.hosts[host].is_frozen {
                self.waiting.entry(host).or_default().push(event);
                return;
            }
            self.run_host(host, event.at);
            self.trace = self.trace.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ event.at.as_nanos() as u64
                ^ host as u64;
        }
        (event.action)(self);
    }

    /// Collects the messages that hosts have sent, and schedules them.
    fn collect(&mut self) {
        for Sent { at, from, route, action } in self.outbox.take() {
            let run = |host: HostId, hosts: &[Host]| Some((host, hosts[host].run));
            match route {
                Route::Connection(connection, side) => self.send(&connection, side, at, action),
                Route::Host(to) => {
                    let delay = self.network.delay(&mut self.rng);
                    if !self.network.is_cut(from, to) {
                        let target = run(to, &self.hosts);
                        self.add(at + delay, target, action);
                    }
                }
                Route::Database => {
                    let mut delay = MIN_DELAY + Duration::from_micros(self.rng.random_range(0..3_000));
                    delay += self.database.faults.slow.mul_f64(self.rng.random());
                    if self.database.faults.late_requests > 0
                        && self.rng.random_range(0..self.database.faults.late_requests) == 0
                    {
                        delay += Duration::from_millis(self.rng.random_range(0..5_000));
                    }
                    if !self.network.is_cut(from, DATABASE) {
                        self.add(at + delay, None, action);
                    }
                }
            }
        }
    }

    fn send(&mut self, connection: &Arc<Connection>, side: Side, at: Duration, action: Action) {
        let to = connection.across(side);
        if let Fate::Arrives(at, action) = self.network.send(connection, side, at, action, &mut self.rng) {
            let (connection, run) = (connection.clone(), self.hosts[to].run);
            let action = move |world: &mut Self| {
                if world.network.is_open(&connection) {
                    action(world);
                }
            };
            self.add(at, Some((to, run)), Box::new(action));
        }
    }

    /// Connects a host to another. Returns `None` if the target host serves no calls.
    pub fn connect(&mut self, from: HostId, run: u64, to: HostId) -> Option<Arc<Connection>> {
        if self.hosts[from].run != run || !self.services.contains_key(&to) {
            return None;
        }
        Some(self.network.connect(from, to))
    }

    /// Serves a call that has arrived.
    pub fn serve(&mut self, call: Called) {
        let host = call.host();
        let Some(Services { context, routes }) = self.services.get(&host) else { return };
        let (context, routes) = (context.clone(), routes.clone());
        self.hosts[host].within(|_| call.serve(context, routes));
    }

    fn break_side(&mut self, connection: &Arc<Connection>, side: Side, delay: Duration) {
        let host = if side == Side::Caller { connection.caller } else { connection.called };
        let (connection, run, at) = (connection.clone(), self.hosts[host].run, self.now + delay);
        self.add(at, Some((host, run)), Box::new(move |_| connection.broken(side).cancel()));
    }

    /// Breaks a connection.
    pub fn break_connection(&mut self, connection: &Arc<Connection>) {
        self.network.forget(connection);
        for side in [Side::Caller, Side::Called] {
            let delay = self.network.delay(&mut self.rng);
            self.break_side(connection, side, delay);
        }
    }

    /// Heals all links and sends the messages that were held back.
    pub fn heal(&mut self) {
        let now = self.now;
        for (connection, side, action) in self.network.heal() {
            self.send(&connection, side, now, action);
        }
    }

    /// Breaks connections whose messages have been held back for [`IDLE_TIMEOUT`].
    fn probe(&mut self) {
        for connection in self.network.stuck() {
            self.after(IDLE_TIMEOUT, move |world| {
                if world.network.stuck().iter().any(|stuck| stuck.id == connection.id) {
                    world.break_connection(&connection);
                }
            });
        }
        self.after(PROBE, Self::probe);
    }
}
