//! Many clients contend for one lock while connections break: no two holds are ever valid at once, and tokens only
//! increase.

use crate::support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Cluster, within};
use tenure_client::{Client, Error, Hold, SessionOptions};

const CLIENTS: usize = 6;
const ROUNDS: usize = 20;
const TTL: Duration = Duration::from_millis(600);

/// Far exceeds the expected duration.
const LONGEST: Duration = Duration::from_secs(120);

/// The disconnect grace of every second client.
const GRACE: Duration = Duration::from_millis(300);

/// All holds that were granted and not released.
#[derive(Default)]
struct Ledger {
    holds: Vec<Hold>,
    last_token: u64,
}

impl Ledger {
    fn enter(&mut self, hold: Hold) {
        // The token of a hold lost before this point may arrive late; only a valid hold must have the newest token.
        if hold.is_valid() {
            assert!(hold.token() > self.last_token, "{} after {}", hold.token(), self.last_token);
            self.last_token = hold.token();
        }
        self.holds.push(hold);
        self.check();
    }

    fn leave(&mut self, token: u64) {
        self.check();
        self.holds.retain(|hold| hold.token() != token);
    }

    fn check(&self) {
        let valid: Vec<u64> = self.holds.iter().filter(|hold| hold.is_valid()).map(Hold::token).collect();
        assert!(valid.len() <= 1, "valid at once: {valid:?}");
    }
}

async fn contend(client: Client, options: SessionOptions, ledger: Arc<Mutex<Ledger>>) {
    for round in 0..ROUNDS {
        let guard = match within(client.lock("prize").session(options.clone()).acquire()).await {
            Ok(guard) => guard,
            Err(Error::Lost(_) | Error::Unavailable(_)) => continue,
            Err(error) => panic!("{error}"),
        };
        ledger.lock().expect("no panic elsewhere").enter(guard.hold());
        if round % 10 == 3 {
            // Some clients hold the lock until they lose it, others for a while.
            let _ = tokio::time::timeout(TTL / 2, guard.lost()).await;
        }
        ledger.lock().expect("no panic elsewhere").leave(guard.token());
        match within(guard.release()).await {
            Ok(()) | Err(Error::Lost(_) | Error::Unavailable(_) | Error::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_one_hold_is_valid_while_connections_break() -> anyhow::Result<()> {
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let cluster = Cluster::start(3).await?;
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let contenders: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let options = SessionOptions::new().ttl(TTL);
            let options = if number % 2 == 0 { options } else { options.disconnect_grace(GRACE) };
            Ok(tokio::spawn(contend(cluster.client()?, options, Arc::clone(&ledger))))
        })
        .collect::<anyhow::Result<_>>()?;
    let all = futures::future::join_all(contenders);
    tokio::pin!(all);
    let mut faults = tokio::time::interval(Duration::from_millis(150));
    let finished = tokio::time::timeout(LONGEST, async {
        loop {
            tokio::select! {
                finished = &mut all => return finished,
                _ = faults.tick() => {
                    // Only one server at a time has network faults, so that some client always makes progress.
                    (0..3).for_each(|number| cluster.relay(number).heal());
                    let relay = cluster.relay(random.random_range(0..3));
                    match random.random_range(0..3) {
                        0 => relay.cut(),
                        1 => relay.freeze(),
                        _ => {}
                    }
                }
            }
        }
    });
    for finished in finished.await? {
        finished?;
    }
    Ok(())
}
