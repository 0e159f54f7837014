//! Clients that make requests, cancel them and lose their connections at random, on two servers whose store fails at
//! random: two clients never hold the same lock, tokens only increase, and no unknown hold is left at the end.

use crate::support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::Cluster;
use tenure_client::v1::ErrorReason;
use tenure_client::{Attempt, Client, Error, Guard, Hold, Session, SessionOptions};
use tenure_server::store::Fault;
use tokio::time::{sleep, timeout};

const CLIENTS: u64 = 6;
/// Number of requests of each client.
const STEPS: usize = 80;
/// Short, so that some clients lose their sessions.
const TTL: Duration = Duration::from_millis(800);
/// So short that a reconnecting client is often too late, or just in time.
const REATTACH: Duration = Duration::from_millis(100);
/// Far exceeds the expected duration.
const LONGEST: Duration = Duration::from_secs(120);

/// The state known to the clients.
#[derive(Default)]
struct Ledger {
    holds: Vec<Hold>,
    /// The session of each token.
    tokens: BTreeMap<u64, String>,
}

type Shared = Arc<Mutex<Ledger>>;

fn locked(ledger: &Shared) -> MutexGuard<'_, Ledger> {
    ledger.lock().expect("no panic elsewhere")
}

impl Ledger {
    fn enter(&mut self, guard: &Guard) {
        let session = guard.session().id().to_owned();
        let before = self.tokens.insert(guard.token(), session);
        assert_eq!(before, None, "token {} was granted twice", guard.token());
        self.holds.push(guard.hold());
        self.check();
    }

    fn leave(&mut self, token: u64) {
        self.check();
        self.holds.retain(|hold| hold.token() != token);
    }

    fn check(&self) {
        for name in ["a", "b"] {
            let holds = |hold: &&Hold| hold.names().iter().any(|held| held == name) && hold.is_valid();
            let valid: Vec<u64> = self.holds.iter().filter(holds).map(Hold::token).collect();
            assert!(valid.len() <= 1, "{name} is held by {valid:?} at once");
        }
    }
}

/// A client that often cancels its requests.
struct Subject {
    client: Client,
    session: Option<Session>,
    random: StdRng,
    ledger: Shared,
}

impl Subject {
    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.random.random_range(0..30_000))
    }

    async fn run(mut self) -> Self {
        for _ in 0..STEPS {
            let session = match self.session.take().filter(Session::is_valid) {
                Some(session) => session,
                None => match self.client.session(SessionOptions::new().ttl(TTL)).await {
                    Ok(session) => session,
                    Err(error) => {
                        tolerate(&error);
                        continue;
                    }
                },
            };
            if let Some(guard) = self.acquire(&session).await {
                self.use_and_release(guard).await;
            }
            match self.random.random_range(0..20) {
                // The session is closed with requests in flight, whether awaited or not.
                0 => drop(timeout(self.moment(), session.close()).await),
                1 => drop(session),
                _ => self.session = Some(session),
            }
        }
        self
    }

    async fn acquire(&mut self, session: &Session) -> Option<Guard> {
        let names = [&["a"][..], &["b"], &["a", "b"]][self.random.random_range(0..3)];
        let request = session.locks(names.iter().copied());
        let moment = self.moment();
        let attempt = match self.random.random_range(0..4) {
            0 => request.try_acquire().await,
            1 => request.acquire_within(moment).await,
            2 => request.acquire().await.map(Attempt::Acquired),
            // Cancels by timeout.
            _ => match timeout(moment, request.acquire()).await {
                Ok(acquired) => acquired.map(Attempt::Acquired),
                Err(_) => return None,
            },
        };
        match attempt {
            Ok(attempt) => attempt.acquired(),
            Err(error) => {
                tolerate(&error);
                None
            }
        }
    }

    async fn use_and_release(&mut self, guard: Guard) {
        locked(&self.ledger).enter(&guard);
        let is_patient = self.random.random_range(0..10) == 0;
        sleep(if is_patient { REATTACH * 2 } else { self.moment() / 8 }).await;
        locked(&self.ledger).leave(guard.token());
        // No operator evicts: a live session loses nothing.
        let lost = guard.lost_reason();
        assert!(lost.is_none() || !guard.session().is_valid(), "token {}: {lost:?}", guard.token());
        let moment = self.moment();
        let released = match self.random.random_range(0..5) {
            0 => return drop(guard),
            1 => timeout(moment, guard.release()).await,
            2 => timeout(LONGEST, async { guard.transfer_to(None).await.map(drop) }).await,
            _ => timeout(LONGEST, guard.release()).await,
        };
        if let Ok(Err(error)) = released {
            tolerate(&error);
        }
    }
}

/// Asserts that an error is expected in these circumstances: a hold was lost, a handover had no waiter, or no server
/// was available for a while.
fn tolerate(error: &Error) {
    let ended =
        [ErrorReason::TransferImpossible, ErrorReason::HoldEnded, ErrorReason::SessionEnded, ErrorReason::NotHolder];
    let expected = match error {
        Error::Lost(_) | Error::Unavailable(_) => true,
        Error::Refused(refusal) => ended.contains(&refusal.error_reason()) || refusal.is_transient(),
        _ => false,
    };
    assert!(expected, "{error:?}");
}

async fn inject_faults(cluster: &Cluster, random: &mut StdRng) {
    loop {
        sleep(Duration::from_millis(random.random_range(20..120))).await;
        // Only one server at a time has network faults, so that some client always makes progress.
        (0..2).for_each(|number| cluster.relay(number).heal());
        let relay = cluster.relay(random.random_range(0..2));
        match random.random_range(0..7) {
            0 => relay.cut(),
            1 => relay.freeze(),
            2 => relay.deafen(),
            3 => cluster.database.fail_next(Fault::OutcomeUnknown),
            4 => cluster.database.fail_next(Fault::OutcomeUnknownAndLost),
            5 => cluster.database.fail_next(Fault::Unavailable),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_orphaned_hold_remains_after_random_faults() -> anyhow::Result<()> {
    let seed = std::env::var("TENURE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("TENURE_SEED={seed}");
    let cluster = Cluster::start_with(2, REATTACH).await?;
    let ledger = Shared::default();
    let mut random = StdRng::seed_from_u64(seed);
    let mut subjects = Vec::new();
    for number in 0..CLIENTS {
        let random = StdRng::seed_from_u64(seed.wrapping_add(number + 1));
        let (client, ledger) = (cluster.client()?, Arc::clone(&ledger));
        subjects.push(tokio::spawn(Subject { client, session: None, random, ledger }.run()));
    }
    let all = futures::future::try_join_all(subjects);
    let subjects = tokio::select! {
        all = timeout(LONGEST, all) => all??,
        () = inject_faults(&cluster, &mut random) => unreachable!("it never ends"),
    };
    (0..2).for_each(|number| cluster.relay(number).heal());
    // The clients still exist, and so do their sessions, except those that they lost.
    let sessions = || subjects.iter().filter_map(|subject| subject.session.as_ref());
    let valid = || sessions().filter(|session| session.is_valid()).map(Session::id).collect();
    cluster.holds_only_in(&[], valid).await;
    let ledger = locked(&ledger);
    let granted = cluster.grants(None);
    for (token, session) in &ledger.tokens {
        assert!(cluster.grants(Some(session)).contains(token), "{token} was not granted to {session}");
    }
    println!("{} grants, {} of them received", granted.len(), ledger.tokens.len());
    Ok(())
}
