//! The end of a soak: waits until no session is left, and checks that logs, watches and servers agree.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use anyhow::Context;
use tenure_chaos::{past, read_log};
use tenure_checker::{check, open_sessions};
use tenure_client::{Client, Result};
use tokio::time::{Instant, sleep};
use tokio_stream::StreamExt;

use super::task::Task;
use crate::report::Report;

/// How long sessions may last without renewals: the longest TTL, and the delay that a busy machine adds.
const EXPIRY: Duration = Duration::from_secs(30);

/// How long servers and watches may take to reach the end of the log.
const CATCH_UP: Duration = Duration::from_secs(15);

/// The poll interval.
const POLL: Duration = Duration::from_millis(250);

/// Lists everything that a server shows.
async fn state_of(url: &str) -> Result<String> {
    let client = Client::connect(url)?;
    let locks: Vec<_> = client.list_locks("").collect::<Result<_>>().await?;
    let sessions: Vec<_> = client.list_sessions().collect::<Result<_>>().await?;
    let groups: Vec<_> = client.list_groups("").collect::<Result<_>>().await?;
    client.close().await?;
    Ok(format!("locks {locks:?}, sessions {sessions:?}, groups {groups:?}"))
}

/// Waits until nothing is left, and the watch of everything has reported that.
///
/// # Errors
/// If the log or a server cannot be read.
pub async fn wait_until_empty(task: &Task, store_url: &str, report: &mut Report) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut log = read_log(store_url, 0).await?;
    while open_sessions(&log) > 0 && begun.elapsed() < EXPIRY {
        sleep(POLL).await;
        let last = log.last().map_or(0, |batch| batch.revision().0);
        log.extend(read_log(store_url, last).await?);
    }
    let left = open_sessions(&log);
    report.require(left == 0, "all sessions have ended", left);
    let head = log.last().context("the log is empty")?.revision().0;
    let begun = Instant::now();
    while task.notes().reported_up_to < head && begun.elapsed() < CATCH_UP {
        sleep(POLL).await;
    }
    let reported = task.notes().reported_up_to;
    report.require(reported >= head, "a watch reports every event", format!("up to {reported} of {head}"));
    let mut all = Vec::new();
    for url in task.urls.iter() {
        all.push(state_of(url).await.with_context(|| format!("reading the state of {url}"))?);
    }
    let is_same = all.windows(2).all(|pair| pair[0] == pair[1]);
    report.require(is_same, "all servers have the same state", all.join("\n"));
    let is_empty = all.iter().all(|state| state.starts_with("locks [], sessions [], "));
    report.require(is_empty, "no lock is held and no session is open", all.join("\n"));
    Ok(())
}

/// Runs the checker on the history.
///
/// # Errors
/// If the log cannot be read.
pub async fn check_history(task: &Task, store_url: &str, report: &mut Report) -> anyhow::Result<()> {
    let log = read_log(store_url, 0).await?;
    let mut at = 0;
    for batch in &log {
        let follows =
            batch.previous.0 == at && batch.events.iter().map(|event| event.revision.0).eq(at + 1..=batch.revision().0);
        report.require(follows, "revisions have no gaps", format!("{} after {at}", batch.previous));
        at = batch.revision().0;
    }
    let reported = std::mem::take(&mut task.notes().reported);
    let (past, history) = (past(log, Vec::new(), &reported), task.recorder.take());
    report.figure("log", format!("{} events in {} batches", past.surviving().count(), past.log.len()));
    let (calls, holds) = (history.calls.len(), history.valid_holds.len());
    let messages: usize = history.watches.values().map(Vec::len).sum();
    report.figure("checked", format!("{calls} calls, {holds} valid holds seen, {messages} watch messages"));
    report.violations.extend(check(&history, &past).iter().map(ToString::to_string));
    if !report.violations.is_empty() {
        let mut file = BufWriter::new(File::create(report.folder()?.join("log.txt"))?);
        for (moment, recorded) in past.committed() {
            writeln!(file, "{moment:?} {recorded:?}")?;
        }
        file.flush()?;
    }
    Ok(())
}
