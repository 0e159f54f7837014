//! A program of which only one copy may work: it campaigns, works periodically while it leads, and reports its actions
//! with their times on standard output.
//!
//! `candidate ENDPOINTS LOCK TTL_MS PERIOD_MS [DISCONNECT_GRACE_MS]`. Exits at the end of its standard input, so that
//! it never outlives a test.

use std::io::Read;
use std::time::Duration;

use anyhow::Context;
use tenure_client::{Client, SessionOptions};
use tenure_e2e::report;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// The interval between checks for a renewal of the session.
const POLL: Duration = Duration::from_millis(2);

/// A renewal moves the end of the validity by far more than this; jitter in reading the clocks moves it by far less.
const RENEWAL: Duration = Duration::from_millis(50);

/// The pause between two campaigns.
const PAUSE: Duration = Duration::from_millis(50);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    // Logs to standard error, where a failing test shows it; RUST_LOG sets the level.
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoints, lock, ttl, period, grace @ ..] = &arguments[..] else {
        anyhow::bail!("not four or five arguments")
    };
    let (ttl, period) = (Duration::from_millis(ttl.parse()?), Duration::from_millis(period.parse()?));
    let mut options = SessionOptions::new().ttl(ttl).owner(std::process::id().to_string());
    if let Some(grace) = grace.first() {
        options = options.disconnect_grace(Duration::from_millis(grace.parse()?));
    }
    let client = Client::connect(endpoints.as_str()).context("connecting")?;
    loop {
        if let Err(error) = campaign(&client, lock, options.clone(), period).await {
            report("failed", &error.to_string());
            sleep(PAUSE).await;
        }
    }
}

async fn campaign(client: &Client, lock: &str, options: SessionOptions, period: Duration) -> tenure_client::Result<()> {
    let session = client.session(options).await?;
    let hold = session.lock(lock).acquire().await?;
    report("leads", &format!("{} {}", hold.token(), session.id()));
    let mut work = interval(period);
    work.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut poll = interval(POLL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut valid_until = session.valid_until();
    loop {
        tokio::select! {
            biased;
            reason = hold.lost() => {
                report("lost", &reason.to_string());
                return Ok(());
            }
            _ = work.tick() => {
                if hold.is_valid() {
                    report("works", &hold.token().to_string());
                }
            }
            _ = poll.tick() => {
                let now = session.valid_until();
                if now > valid_until + RENEWAL {
                    valid_until = now;
                    report("renewed", "");
                }
            }
        }
    }
}
