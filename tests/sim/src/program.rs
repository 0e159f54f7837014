//! What runs on hosts: the server as it is, and clients that use the library as it is.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_client::{Attempt, Client, ClientOptions, Guard, SessionOptions, WatchEvent, WatchOptions};
use tenure_server::clock::Clock;
use tenure_server::life::{Ends, Ground, Parts};
use tenure_server::node::NodeOptions;
use tenure_server::service::TtlBounds;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::caller;
use crate::database::SimStore;
use crate::history::{Call, CallKind, Diary, Outcome, Sharing, Sighting, Telling};
use crate::host::{Here, HostId};
use crate::mail::{Sent, Way};
use crate::wire::{Dialler, address};

/// For how long a server's lease holds.
pub const LEASE: Duration = Duration::from_secs(2);

/// How long a claim is kept that nobody attends to.
const REATTACH: Duration = Duration::from_secs(2);

/// A clock that is replaced below the standard library.
struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Duration {
        tenure_server::clock::BootClock.now()
    }
}

/// A server.
pub async fn server(here: Here, hinted: Arc<Notify>) {
    let ends = Ends::default();
    let store = Arc::new(SimStore::new(here.clone(), hinted));
    let node = NodeOptions {
        lease: LEASE,
        label: format!("server-{}", here.host),
        address: address(here.host),
        reattach: REATTACH,
        poll_interval: Duration::from_millis(100),
        max_namespaces: 4,
        history_retention: Duration::from_secs(3_600),
    };
    let ttl = TtlBounds { min: Duration::from_millis(200), max: Duration::from_secs(3_600) };
    let ground = Ground { clock: Arc::new(MachineClock), connector: Arc::new(Dialler(here.clone())) };
    let parts = Parts::on(store, ttl, node, ground, &ends).await.expect("a server");
    let (mail, host, at, place) = (here.mail.clone(), here.host, here.time.now(), here.clone());
    let serve = move |world: &mut crate::world::World| world.serve_at(place, parts.routes);
    mail.send(Sent { at, from: host, way: Way::Host(host), deed: Box::new(serve) });
    parts.life.await;
}

/// What a client's host is given.
#[derive(Clone)]
pub struct Task {
    /// The servers.
    pub servers: Vec<HostId>,
    /// Where it writes what it does.
    pub diary: Diary,
    /// What it draws.
    pub seed: u64,
    /// When it begins nothing more.
    pub until: Duration,
    /// How many locks there are.
    pub locks: u32,
}

/// A client's program: several that use locks at once, and one that watches.
pub async fn client(here: Here, task: Task) {
    let options = ClientOptions::new()
        .endpoints(task.servers.iter().map(|server| format!("http://{}", address(*server))))
        .connect_timeout(Duration::from_millis(300))
        .call_timeout(Duration::from_secs(2));
    let client = Client::connect_by(Arc::new(Dialler(here.clone())), options).expect("a client");
    tokio::spawn(watch(client.clone(), task.clone()));
    let mut rng = StdRng::seed_from_u64(task.seed ^ here.run.wrapping_mul(0x9e37_79b9));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let worker = Worker {
                here: here.clone(),
                client: client.clone(),
                task: task.clone(),
                rng: StdRng::from_rng(&mut rng),
            };
            tokio::spawn(worker.run())
        })
        .collect();
    let calling = caller::run(here.clone(), task.clone(), StdRng::from_rng(&mut rng));
    let workers = workers.into_iter().chain([tokio::spawn(calling)]);
    for worker in workers {
        // One that panics is found by what it does not do.
        let _ = worker.await;
    }
    // Bounded by the client; what is left ends by its TTL.
    let _ = client.close().await;
}

struct Worker {
    here: Here,
    client: Client,
    task: Task,
    rng: StdRng,
}

impl Worker {
    fn now(&self) -> Duration {
        self.here.time.now()
    }

    async fn run(mut self) {
        while self.now() < self.task.until {
            let ttl = Duration::from_millis(self.rng.random_range(600..3_000));
            let mut options = SessionOptions::new().ttl(ttl);
            if self.rng.random_range(0..3) == 0 {
                options = options.disconnect_grace(Duration::from_millis(self.rng.random_range(0..1_000)));
            }
            let Ok(session) = self.client.session(options).await else { continue };
            for _ in 0..self.rng.random_range(1..6) {
                if self.now() >= self.task.until || !session.is_valid() {
                    break;
                }
                let number = self.rng.random_range(0..self.task.locks);
                let (name, sharing) = match number % 4 {
                    0 | 1 => (format!("lock/{number}"), Sharing::Exclusive),
                    2 if self.rng.random() => (format!("book/{number}"), Sharing::Shared),
                    2 => (format!("book/{number}"), Sharing::Exclusive),
                    _ => (format!("pool/{number}"), Sharing::Permit(2)),
                };
                let request = session.lock(&name);
                let request = match sharing {
                    Sharing::Exclusive => request,
                    Sharing::Shared => request.shared(),
                    Sharing::Permit(limit) => request.permits(1).limit(limit),
                };
                let start = self.now();
                let wait = Duration::from_millis(self.rng.random_range(0..2_000));
                let attempt = request.acquire_within(wait).await;
                let (guard, outcome) = match attempt {
                    Ok(Attempt::Acquired(guard)) => {
                        let token = guard.token();
                        (Some(guard), Outcome::Acquired(token))
                    }
                    Ok(Attempt::Busy(_)) => (None, Outcome::Busy),
                    Err(error) => (None, Outcome::Failed(error.to_string())),
                };
                self.note(name.clone(), CallKind::Acquire(sharing), start, outcome);
                if let Some(guard) = guard {
                    self.work(guard, &name, sharing).await;
                }
                sleep(Duration::from_millis(self.rng.random_range(0..100))).await;
            }
            if self.rng.random() {
                let _ = session.close().await;
            }
        }
    }

    /// Does something while the hold is valid, and gives it back, or drops it.
    async fn work(&mut self, guard: Guard, name: &str, sharing: Sharing) {
        let token = guard.token();
        let until = Instant::now() + Duration::from_millis(self.rng.random_range(0..2_500));
        while Instant::now() < until {
            if !guard.is_valid() {
                return;
            }
            let (at, name) = (self.now(), name.to_owned());
            self.task.diary.write(|history| history.sightings.push(Sighting { at, name, token, sharing }));
            sleep(Duration::from_millis(self.rng.random_range(1..150))).await;
        }
        if self.rng.random_range(0..4) > 0 {
            let start = self.now();
            let outcome = match guard.release().await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Failed(error.to_string()),
            };
            self.note(name.to_owned(), CallKind::Release(token), start, outcome);
        }
    }

    fn note(&self, name: String, kind: CallKind, start: Duration, outcome: Outcome) {
        let call = Call { client: self.here.host, name, kind, start, end: self.now(), outcome };
        self.task.diary.write(|history| history.calls.push(call));
    }
}

/// Writes down all that a watch tells.
async fn watch(client: Client, task: Task) {
    let mut watch = client.watch(WatchOptions::all());
    let number = task.diary.write(|history| {
        history.watches.push(Vec::new());
        history.watches.len() - 1
    });
    while let Some(item) = watch.next().await {
        let telling = match item {
            Ok(WatchEvent::Snapshot { locks, revision, .. }) => {
                let holders = locks
                    .iter()
                    .flat_map(|lock| lock.holders.iter().map(|claim| (lock.name.clone(), claim.token.unwrap_or(0))));
                Telling::Snapshot { revision, holders: holders.collect() }
            }
            Ok(WatchEvent::Events { events, revision, .. }) => {
                let events = events.into_iter().map(|event| (event.revision, event.name, event.kind.as_str()));
                Telling::Events { events: events.collect(), revision }
            }
            Ok(WatchEvent::Progress { revision }) => Telling::Progress(revision),
            Ok(WatchEvent::HistoryGone { .. }) => Telling::Gone,
            Ok(_) => continue,
            Err(_) => return,
        };
        task.diary.write(|history| history.watches[number].push(telling));
    }
}
