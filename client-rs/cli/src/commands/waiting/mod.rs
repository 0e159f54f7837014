//! Reports a wait: who holds the lock, since when, and the position in the queue.
//!
//! A terminal shows one status line that changes with the queue. A log gets one line at the beginning and one when the
//! holder changes.

mod state;
mod status_line;
mod throttle;

use std::cell::Cell;
use std::convert::Infallible;
use std::future::pending;
use std::time::{Duration, SystemTime};

use tenure_client::Client;
use tenure_proto::v1::{Event, EventType, WatchRequest, WatchResponse, history_entry, watch_response::Kind};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::history;
use crate::Context;
use crate::output::{Style, escape, human, say};
use state::{HoldStart, WaitState};
use status_line::StatusLine;
use throttle::LogThrottle;

/// Waits shorter than this are not reported: on a terminal, and in a log.
const TERMINAL_DELAY: Duration = Duration::from_millis(300);
const LOG_DELAY: Duration = Duration::from_secs(1);

/// How often a terminal's line is redrawn, because it shows elapsed time.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);

/// The minimum time between two reads of the lock, however fast the queue moves.
const READ_INTERVAL: Duration = Duration::from_millis(250);

/// The timeout of a read.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// A wait for locks.
pub struct Waiting<'a> {
    pub context: &'a Context,
    pub client: &'a Client,
    /// The session whose position in the queue is shown.
    pub session: Option<&'a str>,
    pub names: &'a [String],
}

/// Reports that another program uses the session's id, until dropped. Sets `reported` if that was in a log.
pub async fn for_a_session(quiet: bool, id: &str, reported: &Cell<bool>) -> Infallible {
    let begun = Instant::now();
    let text = format!("session {} is in use by another program; waiting until it ends", escape(id));
    let log_line = || {
        reported.set(true);
        text.clone()
    };
    report(quiet, TERMINAL_DELAY, || format!("{text} (for {})", human(begun.elapsed())), log_line).await
}

/// Reports the remaining time, as phrased by `text`, until dropped.
pub async fn count_down(quiet: bool, limit: Duration, text: impl Fn(&str) -> String) -> Infallible {
    let end = Instant::now().checked_add(limit);
    let left = || end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
    // Rounds up to full seconds.
    let seconds = || Duration::from_secs(left().as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
    report(quiet, LOG_DELAY, || text(&human(seconds())), || text(&human(left()))).await
}

/// Shows `line` each second on a terminal, after `delay`, and `log_line` once in a log, until dropped.
async fn report(
    quiet: bool,
    delay: Duration,
    line: impl Fn() -> String,
    log_line: impl FnOnce() -> String,
) -> Infallible {
    if quiet {
        return pending().await;
    }
    if !Style::of_stderr().can_redraw() {
        sleep(LOG_DELAY).await;
        say(&format!("tenure: {}", log_line()));
        return pending().await;
    }
    sleep(delay).await;
    let mut status_line = StatusLine::default();
    loop {
        status_line.show(&line());
        sleep(REDRAW_INTERVAL).await;
    }
}

impl Waiting<'_> {
    /// Reports the wait until dropped; then a terminal's line is cleared. Sets `reported` if that was in a log.
    pub async fn show(&self, quiet: bool, reported: &Cell<bool>) -> Infallible {
        if quiet {
            pending().await
        } else if Style::of_stderr().can_redraw() {
            sleep(TERMINAL_DELAY).await;
            self.show_on_terminal().await
        } else {
            sleep(LOG_DELAY).await;
            self.show_in_log(reported).await
        }
    }

    async fn show_on_terminal(&self) -> Infallible {
        let mut status_line = StatusLine::default();
        let mut changes = self.client.watch(self.watched());
        let mut tick = interval(REDRAW_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut known, mut since) = (None, None);
        let (mut is_stale, mut next_read) = (true, Instant::now());
        loop {
            tokio::select! {
                Some(change) = changes.next() => {
                    is_stale = true;
                    since = change.ok().and_then(granted).or(since);
                }
                () = sleep_until(next_read), if is_stale => {
                    is_stale = false;
                    known = self.read().await;
                    if let Some(state) = &known {
                        since = self.since(state, since).await;
                    }
                    next_read = Instant::now() + READ_INTERVAL;
                }
                _ = tick.tick() => {}
            }
            match &known {
                Some(state) => status_line.show(&state.now(since.as_ref())),
                None => status_line.show(""),
            }
        }
    }

    async fn show_in_log(&self, reported: &Cell<bool>) -> Infallible {
        let mut changes = self.client.watch(self.watched());
        let mut throttle = LogThrottle::new(Instant::now());
        let (mut last, mut since) = (None, None);
        let mut is_stale = true;
        loop {
            tokio::select! {
                Some(change) = changes.next() => {
                    let change = change.ok();
                    is_stale |= change.as_ref().is_none_or(concerns_holder);
                    since = change.and_then(granted).or(since);
                }
                () = sleep_until(throttle.next()), if is_stale => {
                    is_stale = false;
                    let Some(state) = self.read().await.filter(|state| last != Some(state.holder())) else {
                        throttle.on_read(Instant::now());
                        continue;
                    };
                    since = self.since(&state, since).await;
                    say(&format!("tenure: {}", state.for_a_log(since.as_ref())));
                    last = Some(state.holder());
                    reported.set(true);
                    throttle.on_line(Instant::now());
                }
                // The watch has ended, because the client was closed.
                else => return pending().await,
            }
        }
    }

    fn watched(&self) -> WatchRequest {
        WatchRequest { names: self.names.to_vec(), ..WatchRequest::default() }
    }

    /// The state of the first lock that this session does not hold.
    async fn read(&self) -> Option<WaitState> {
        for name in self.names {
            let lock = timeout(READ_TIMEOUT, self.client.get_lock(name.as_str())).await.ok()?.ok()?;
            if let Some(state) = WaitState::of(&lock, self.session) {
                return Some(state);
            }
        }
        None
    }

    /// The start of the current hold: from a watched event, or from history.
    async fn since(&self, state: &WaitState, known: Option<HoldStart>) -> Option<HoldStart> {
        let token = state.token?;
        if known.as_ref().is_some_and(|known| known.token == token) {
            return known;
        }
        let read = history::read(self.context, &self.context.rpc, &state.name, 1, None);
        let entries = timeout(READ_TIMEOUT, read).await.ok()?.ok()?.entries;
        let hold = entries.into_iter().find_map(|entry| match entry.kind {
            Some(history_entry::Kind::Hold(hold)) if hold.token == token => Some(hold),
            _ => None,
        })?;
        let held = Duration::try_from(hold.held?).ok()?;
        let granted = hold.granted_time.and_then(|time| SystemTime::try_from(time).ok());
        Some(HoldStart { token, granted, seen: Instant::now(), held })
    }
}

/// The grant in a watch event, if it has one: that hold begins now.
fn granted(change: WatchResponse) -> Option<HoldStart> {
    let Some(Kind::Events(batch)) = change.kind else { return None };
    let is_grant = |event: &&Event| matches!(event.r#type(), EventType::Granted | EventType::Transferred);
    let event = batch.events.iter().rfind(is_grant)?;
    let granted = event.time.and_then(|time| SystemTime::try_from(time).ok());
    Some(HoldStart { token: event.claim.as_ref()?.token, granted, seen: Instant::now(), held: Duration::ZERO })
}

/// Whether the holder may have changed. A change of the queue is not reported in a log.
fn concerns_holder(change: &WatchResponse) -> bool {
    let concerns_queue = |event: &Event| match event.r#type() {
        EventType::Queued | EventType::Updated | EventType::Configured => true,
        EventType::Ended => event.claim.as_ref().is_some_and(|claim| claim.token == 0),
        _ => false,
    };
    match &change.kind {
        Some(Kind::Events(batch)) => !batch.events.iter().all(concerns_queue),
        Some(Kind::Progress(_)) => false,
        _ => true,
    }
}
