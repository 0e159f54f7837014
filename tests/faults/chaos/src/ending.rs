//! The end of a run: waits for recovery and for the expiry of all sessions, then checks the history.

use std::path::PathBuf;
use std::time::Duration;

use tenure_checker::{Past, check, open_sessions};
use tenure_client::{Client, ClientOptions};
use tokio::time::{Instant, sleep};

use crate::crew::Crew;
use crate::journal::Collected;
use crate::past::{Lost, jumps_are_for_a_reason, past, read_log};
use crate::report::Report;
use crate::workplace::Workplace;

/// How long servers may take to grant again after all faults have ended.
const RECOVERS: Duration = Duration::from_secs(30);

/// How long sessions of dead clients may last: their TTLs, a server's lease, and the delay that a busy machine adds.
const FADES: Duration = Duration::from_secs(60);

/// The poll interval.
const LOOK: Duration = Duration::from_millis(250);

/// Checks that the server with this URL grants a lock in time.
pub async fn grants(url: &str, report: &mut Report) {
    let begun = Instant::now();
    let Ok(client) = Client::connect(ClientOptions::new().endpoints([url]).call_timeout(Duration::from_secs(2))) else {
        return report.violate("servers have URLs", url);
    };
    let mut last = String::new();
    while begun.elapsed() < RECOVERS {
        match client.lock("after all").acquire().await {
            Ok(guard) => {
                if let Err(error) = guard.release().await {
                    last = error.to_string();
                    continue;
                }
                let _ = client.close().await;
                return;
            }
            Err(error) => last = error.to_string(),
        }
        sleep(LOOK).await;
    }
    report.violate("all is well when nothing hinders it", format!("{url} after {RECOVERS:?}: {last}"));
}

/// The results of a run, to be checked.
pub struct Left<'a> {
    /// The clients, which have finished.
    pub clients: Vec<&'a Crew>,
    /// The database's URL.
    pub url: &'a str,
    /// The commits that it lost, in order.
    pub lost: Vec<Lost>,
    /// The number of its promotions.
    pub promotions: usize,
    /// The logs of the servers and of other processes, by name.
    pub logs: Vec<(String, PathBuf)>,
}

/// Waits until no session is left, collects the journals, and checks them; also calls `tell`.
///
/// # Errors
/// If a journal or the database cannot be read.
pub async fn judge(
    left: Left<'_>,
    workplace: &mut Workplace,
    report: &mut Report,
    tell: impl FnOnce(&Collected, &Past, &mut Report),
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut log = read_log(left.url, 0).await?;
    while open_sessions(&log) > 0 && begun.elapsed() < FADES {
        sleep(LOOK).await;
        let last = log.last().map_or(0, |batch| batch.revision().0);
        log.extend(read_log(left.url, last).await?);
    }
    if open_sessions(&log) > 0 {
        report.violate("sessions of those who are gone end", format!("{} are left", open_sessions(&log)));
    }
    let mut collected = Collected::default();
    left.clients.iter().try_for_each(|client| client.collect(&mut collected))?;
    let past = past(log, left.lost, &collected.told);
    report.count(&collected.history);
    report.events = past.surviving().count();
    report.violations.extend(check(&collected.history, &past));
    report.violations.extend(jumps_are_for_a_reason(&past, left.promotions));
    tell(&collected, &past, report);
    workplace.keep_if_wrong(report, &past, &left.logs)
}
