//! Runs the world (hosts, the network between them, and the database) event by event in one thread.
//!
//! No message arrives in less than [`LEAST`]. Each host can therefore run alone for that long: nothing that other hosts
//! do in the meantime can reach it earlier.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tonic::service::Routes;

use crate::base::{Base, DATABASE};
use crate::defect::Defect;
use crate::host::{Here, Host, HostId, Pace};
use crate::network::{Cable, Fate, LEAST, Network, PATIENCE, Side};
use crate::outbox::{Action, Outbox, Sent, Way};
use crate::wire::Called;

/// Interval between checks for connections with held-back messages.
const PROBE: Duration = Duration::from_millis(500);

/// An action to run at a given time.
struct Event {
    at: Duration,
    order: u64,
    /// The host where the action runs, and the run of that host. If that run has ended, the action is dropped.
    place: Option<(HostId, u64)>,
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
struct Serving {
    here: Here,
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
    serving: BTreeMap<HostId, Serving>,
    /// The database.
    pub base: Base,
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
            serving: BTreeMap::new(),
            base: Base::default(),
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
    pub fn add_host(&mut self, pace: Pace) -> HostId {
        let id = self.hosts.len();
        self.hosts.push(Host::new(id, pace));
        id
    }

    /// Returns a host.
    #[must_use]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id]
    }

    /// Starts a host with a program.
    pub fn start<P>(&mut self, id: HostId, program: impl FnOnce(Here) -> P)
    where
        P: Future<Output = ()> + Send + 'static,
    {
        let (now, outbox, defect) = (self.now, self.outbox.clone(), self.defect);
        self.hosts[id].start(now, &outbox, defect, program);
    }

    /// Kills a host at once. Peers notice after a network delay, or after [`PATIENCE`] if its machine is gone.
    pub fn kill(&mut self, id: HostId, with_machine: bool) {
        self.hosts[id].kill();
        self.serving.remove(&id);
        for cable in self.network.of(Some(id)) {
            let other = if cable.caller == id { Side::Called } else { Side::Caller };
            let delay = if with_machine { PATIENCE } else { self.network.delay(&mut self.rng) };
            self.network.forget(&cable);
            self.break_side(&cable, other, delay);
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
            self.add(now, event.place, event.action);
        }
    }

    /// Sets a host's wall clock.
    pub fn set_wall(&mut self, id: HostId, wall: Duration) {
        self.hosts[id].set_wall(wall);
    }

    /// Registers the services of a host.
    pub fn serve_at(&mut self, here: Here, routes: Routes) {
        self.serving.insert(here.host, Serving { here, routes });
    }

    /// Schedules an action.
    pub fn after(&mut self, delay: Duration, action: impl FnOnce(&mut Self) + Send + 'static) {
        let at = self.now + delay;
        self.add(at, None, Box::new(action));
    }

    pub(crate) fn add(&mut self, at: Duration, place: Option<(HostId, u64)>, action: Action) {
        self.order += 1;
        self.events.push(Reverse(Event { at, order: self.order, place, action }));
    }

    /// Advances the world to this time.
    pub fn run_until(&mut self, end: Duration) {
        while self.now < end {
            let next = (self.now + LEAST).min(end);
            while self.events.peek().is_some_and(|Reverse(event)| event.at < next) {
                let Some(Reverse(event)) = self.events.pop() else { break };
                self.happen(event);
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

    fn happen(&mut self, event: Event) {
        self.now = self.now.max(event.at);
        self.steps += 1;
        if let Some((host, run)) = event.place {
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
        for Sent { at, from, way, action } in self.outbox.take() {
            let run = |host: HostId, hosts: &[Host]| Some((host, hosts[host].run));
            match way {
                Way::Cable(cable, side) => self.send(&cable, side, at, action),
                Way::Host(to) => {
                    let delay = self.network.delay(&mut self.rng);
                    if !self.network.is_cut(from, to) {
                        let place = run(to, &self.hosts);
                        self.add(at + delay, place, action);
                    }
                }
                Way::Database => {
                    let mut delay = LEAST + Duration::from_micros(self.rng.random_range(0..3_000));
                    delay += self.base.faults.slow.mul_f64(self.rng.random());
                    if self.base.faults.is_late > 0 && self.rng.random_range(0..self.base.faults.is_late) == 0 {
                        delay += Duration::from_millis(self.rng.random_range(0..5_000));
                    }
                    if !self.network.is_cut(from, DATABASE) {
                        self.add(at + delay, None, action);
                    }
                }
            }
        }
    }

    fn send(&mut self, cable: &Arc<Cable>, side: Side, at: Duration, action: Action) {
        let to = cable.across(side);
        if let Fate::Arrives(at, action) = self.network.send(cable, side, at, action, &mut self.rng) {
            let (cable, run) = (cable.clone(), self.hosts[to].run);
            let action = move |world: &mut Self| {
                if world.network.is_open(&cable) {
                    action(world);
                }
            };
            self.add(at, Some((to, run)), Box::new(action));
        }
    }

    /// Connects a host to another. Returns `None` if the target host serves no calls.
    pub fn connect(&mut self, from: HostId, run: u64, to: HostId) -> Option<Arc<Cable>> {
        if self.hosts[from].run != run || !self.serving.contains_key(&to) {
            return None;
        }
        Some(self.network.connect(from, to))
    }

    /// Serves a call that has arrived.
    pub fn serve(&mut self, call: Called) {
        let host = call.host();
        let Some(Serving { here, routes }) = self.serving.get(&host) else { return };
        let (here, routes) = (here.clone(), routes.clone());
        self.hosts[host].within(|_| call.serve(here, routes));
    }

    fn break_side(&mut self, cable: &Arc<Cable>, side: Side, delay: Duration) {
        let host = if side == Side::Caller { cable.caller } else { cable.called };
        let (cable, run, at) = (cable.clone(), self.hosts[host].run, self.now + delay);
        self.add(at, Some((host, run)), Box::new(move |_| cable.broken(side).cancel()));
    }

    /// Breaks a connection.
    pub fn break_cable(&mut self, cable: &Arc<Cable>) {
        self.network.forget(cable);
        for side in [Side::Caller, Side::Called] {
            let delay = self.network.delay(&mut self.rng);
            self.break_side(cable, side, delay);
        }
    }

    /// Heals all links and sends the messages that were held back.
    pub fn heal(&mut self) {
        let now = self.now;
        for (cable, side, action) in self.network.heal() {
            self.send(&cable, side, now, action);
        }
    }

    /// Breaks connections whose messages have been held back for [`PATIENCE`].
    fn probe(&mut self) {
        for cable in self.network.stuck() {
            self.after(PATIENCE, move |world| {
                if world.network.stuck().iter().any(|stuck| stuck.id == cable.id) {
                    world.break_cable(&cable);
                }
            });
        }
        self.after(PROBE, Self::probe);
    }
}
