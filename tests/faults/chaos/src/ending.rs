//! The end of a run: waits for recovery and for the expiry of all sessions, then checks the history.

use std::path::PathBuf;
use std::time::Duration;

use tenure_checker::{Past, check, open_sessions};
use tenure_client::{Client, ClientOptions};
use tokio::time::{Instant, sleep};

use crate::client_process::ClientProcess;
use crate::journal::Collected;
use crate::past::{LostCommits, jumps_match_promotions, past, read_log};
use crate::report::Report;
use crate::run_folder::RunFolder;

/// How long servers may take to grant again after all faults have ended.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long sessions of dead clients may last: their TTLs, a server's lease, and the delay that a busy machine adds.
const EXPIRY_TIMEOUT: Duration = Duration::from_secs(60);

/// The poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Checks that the server with this URL grants a lock in time.
pub async fn check_grants(url: &str, report: &mut Report) {
    let begun = Instant::now();
    let Ok(client) = Client::connect(ClientOptions::new().endpoints([url]).call_timeout(Duration::from_secs(2))) else {
        return report.add_violation("every server has a valid URL", url);
    };
    let mut last = String::new();
    while begun.elapsed() < RECOVERY_TIMEOUT {
        match client.lock("after the faults").acquire().await {
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
        sleep(POLL_INTERVAL).await;
    }
    report.add_violation(
        "every server grants again after the faults",
        format!("{url} after {RECOVERY_TIMEOUT:?}: {last}"),
    );
}

/// The results of a run, to be checked.
pub struct RunResults<'a> {
    /// The clients, which have finished.
    pub clients: Vec<&'a ClientProcess>,
    /// The database's URL.
    pub url: &'a str,
    /// The commits that it lost, in order.
    pub lost: Vec<LostCommits>,
    /// The number of its promotions.
    pub promotions: usize,
    /// The logs of the servers and of other processes, by name.
    pub logs: Vec<(String, PathBuf)>,
}

/// Waits until no session is left, collects the journals, and checks them; also calls `also_check`.
///
/// # Errors
/// If a journal or the database cannot be read.
pub async fn verify(
    results: RunResults<'_>,
    run_folder: &mut RunFolder,
    report: &mut Report,
    also_check: impl FnOnce(&Collected, &Past, &mut Report),
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut log = read_log(results.url, 0).await?;
    while open_sessions(&log) > 0 && begun.elapsed() < EXPIRY_TIMEOUT {
        sleep(POLL_INTERVAL).await;
        let last = log.last().map_or(0, |batch| batch.revision().0);
        log.extend(read_log(results.url, last).await?);
    }
    if open_sessions(&log) > 0 {
        report.add_violation("sessions of dead clients end", format!("{} are left", open_sessions(&log)));
    }
    let mut collected = Collected::default();
    results.clients.iter().try_for_each(|client| client.collect(&mut collected))?;
    let past = past(log, results.lost, &collected.reported);
    report.count(&collected.history);
    report.events = past.surviving().count();
    report.violations.extend(check(&collected.history, &past));
    report.violations.extend(jumps_match_promotions(&past, results.promotions));
    also_check(&collected, &past, report);
    run_folder.keep_if_violated(report, &past, &results.logs)
}
