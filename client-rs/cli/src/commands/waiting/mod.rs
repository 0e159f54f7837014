//! Reports a wait: who holds the lock, since when, and the place in the queue.
//!
//! A terminal shows one status line that changes with the queue. A log gets one line at the beginning and one when the
//! holder changes.

mod line;
mod pace;
mod standing;

use std::cell::Cell;
use std::time::Duration;

use tenure_client::{Client, Event, EventKind, Watch, WatchEvent, WatchOptions};
use tenure_proto::v1::history_entry::Kind;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::history;
use crate::Context;
use crate::output::{Look, humane, plain, say};
use line::Line;
use pace::Pace;
use standing::{Since, Standing};

/// Waits shorter than this are not reported: on a terminal, and in a log.
const SHORT: Duration = Duration::from_millis(300);
const SHORT_FOR_A_LOG: Duration = Duration::from_secs(1);

/// How often a terminal's line is redrawn, because it shows elapsed time.
const TICK: Duration = Duration::from_secs(1);

/// The minimum time between two reads of the lock, however fast the queue moves.
const LOOK: Duration = Duration::from_millis(250);

/// The timeout of a read.
const PATIENCE: Duration = Duration::from_secs(2);

/// A wait for locks.
pub struct Waiting<'a> {
    pub context: &'a Context,
    pub client: &'a Client,
    /// The session whose place in the queue is shown.
    pub session: Option<&'a str>,
    pub names: &'a [String],
}

/// Whether the wait was reported in a log, so that its end must be reported too.
#[derive(Default)]
pub struct Told(Cell<bool>);

impl Told {
    /// Reports the end of the wait if its beginning was reported.
    pub fn over(&self, text: impl FnOnce() -> String) {
        if self.0.take() {
            say(&text());
        }
    }
}

/// Reports that no server has replied yet, until dropped. Never returns.
pub async fn for_a_server(quiet: bool, limit: Duration) -> std::convert::Infallible {
    if !quiet {
        sleep(SHORT_FOR_A_LOG).await;
        let text = |left: Duration| format!("no server has answered yet; trying for {} more", humane(left));
        count_down(limit.saturating_sub(SHORT_FOR_A_LOG), text).await;
    }
    std::future::pending().await
}

/// Reports that another program uses the session's id, until dropped. Never returns.
pub async fn for_a_session(quiet: bool, id: &str, told: &Told) -> std::convert::Infallible {
    if !quiet {
        let begun = Instant::now();
        let text = format!("session {} is in use by another program; waiting until it ends", plain(id));
        if Look::of_stderr().can_move() {
            sleep(SHORT).await;
            let mut line = Line::default();
            loop {
                line.show(&format!("{text} (for {})", humane(begun.elapsed())));
                sleep(TICK).await;
            }
        }
        sleep(SHORT_FOR_A_LOG).await;
        told.0.set(true);
        say(&format!("tenure: {text}"));
    }
    std::future::pending().await
}

/// Reports that a holder was asked to hand over, until dropped. Never returns.
pub async fn for_the_holder(quiet: bool, name: &str, drain: Duration) -> std::convert::Infallible {
    if !quiet {
        sleep(SHORT_FOR_A_LOG).await;
        let name = plain(name);
        let text = |left: Duration| format!("waiting for the holder of {name} to hand over; it has {}", humane(left));
        count_down(drain.saturating_sub(SHORT_FOR_A_LOG), text).await;
    }
    std::future::pending().await
}

/// Reports the remaining time, until dropped: once a second on a terminal, once in a log. Never returns.
async fn count_down(limit: Duration, text: impl Fn(Duration) -> String) -> std::convert::Infallible {
    let end = Instant::now().checked_add(limit);
    let left = || end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
    if !Look::of_stderr().can_move() {
        say(&format!("tenure: {}", text(left())));
        return std::future::pending().await;
    }
    let mut line = Line::default();
    loop {
        // Rounds up to full seconds.
        line.show(&text(Duration::from_secs(left().as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX))));
        sleep(TICK).await;
    }
}

impl Waiting<'_> {
    /// Reports the wait until dropped; then a terminal's line is cleared. Never returns.
    pub async fn show(&self, quiet: bool, told: &Told) -> std::convert::Infallible {
        if quiet {
            return std::future::pending().await;
        }
        if Look::of_stderr().can_move() {
            sleep(SHORT).await;
            self.on_a_terminal().await;
        } else {
            sleep(SHORT_FOR_A_LOG).await;
            self.in_a_log(told).await;
        }
        std::future::pending().await
    }

    fn watch(&self) -> Watch {
        self.client.watch(WatchOptions::names(self.names))
    }

    async fn on_a_terminal(&self) {
        let mut line = Line::default();
        let mut changes = self.watch();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut known, mut since) = (None, None);
        let (mut is_old, mut next_look) = (true, Instant::now());
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(change) => {
                        is_old = true;
                        since = change.ok().and_then(granted).or(since);
                    }
                    None => return,
                },
                () = sleep_until(next_look), if is_old => {
                    is_old = false;
                    match self.look().await {
                        Some(standing) => {
                            since = self.since(&standing, since).await;
                            known = Some(standing);
                        }
                        None => known = None,
                    }
                    next_look = Instant::now() + LOOK;
                }
                _ = tick.tick() => {}
            }
            match &known {
                Some(standing) => line.show(&standing.now(since.as_ref())),
                None => line.clear(),
            }
        }
    }

    async fn in_a_log(&self, told: &Told) {
        let mut changes = self.watch();
        let mut pace = Pace::new(Instant::now());
        let (mut last, mut since) = (None, None);
        let mut is_old = true;
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(change) => {
                        let change = change.ok();
                        is_old |= change.as_ref().is_none_or(is_about_the_holder);
                        since = change.and_then(granted).or(since);
                    }
                    None => return,
                },
                () = sleep_until(pace.next()), if is_old => {
                    is_old = false;
                    let Some(standing) = self.look().await.filter(|standing| last != Some(standing.holder())) else {
                        pace.looked(Instant::now());
                        continue;
                    };
                    since = self.since(&standing, since).await;
                    say(&format!("tenure: {}", standing.for_a_log(since.as_ref())));
                    last = Some(standing.holder());
                    told.0.set(true);
                    pace.told(Instant::now());
                }
            }
        }
    }

    /// The standing at the first lock that this session does not hold.
    async fn look(&self) -> Option<Standing> {
        for name in self.names {
            let lock = timeout(PATIENCE, self.client.get_lock(name.as_str())).await.ok()?.ok()?;
            if let Some(standing) = Standing::of(&lock, self.session) {
                return Some(standing);
            }
        }
        None
    }

    /// The start of the current hold: from a watched event, or from history.
    async fn since(&self, standing: &Standing, known: Option<Since>) -> Option<Since> {
        let token = standing.token?;
        if known.as_ref().is_some_and(|known| known.token == token) {
            return known;
        }
        let read = history::read(self.context, &self.context.rpc, &standing.name, 1, None);
        let entries = timeout(PATIENCE, read).await.ok()?.ok()?.entries;
        let hold = entries.into_iter().find_map(|entry| match entry.kind {
            Some(Kind::Hold(hold)) if hold.token == token => Some(hold),
            _ => None,
        })?;
        let held = Duration::try_from(hold.held?).ok()?;
        let granted = hold.granted_time.and_then(|time| std::time::SystemTime::try_from(time).ok());
        Some(Since { token, granted, seen: Instant::now(), held })
    }
}

/// The grant in a watch event, if it has one: that hold begins now.
fn granted(change: WatchEvent) -> Option<Since> {
    let WatchEvent::Events { events, .. } = change else { return None };
    let is_grant = |event: &&Event| matches!(event.kind, EventKind::Granted | EventKind::Transferred);
    let event = events.iter().rfind(is_grant)?;
    let token = event.claim.as_ref()?.token?;
    Some(Since { token, granted: event.time, seen: Instant::now(), held: Duration::ZERO })
}

/// Whether the holder may have changed. A change of the queue is not reported in a log.
fn is_about_the_holder(change: &WatchEvent) -> bool {
    let of_the_queue = |event: &Event| {
        matches!(event.kind, EventKind::Queued | EventKind::Updated | EventKind::Configured)
            || event.kind == EventKind::Ended && event.claim.as_ref().is_some_and(|claim| claim.token.is_none())
    };
    match change {
        WatchEvent::Events { events, .. } => !events.iter().all(of_the_queue),
        WatchEvent::Progress { .. } => false,
        _ => true,
    }
}
