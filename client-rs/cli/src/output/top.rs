//! Formats the state of the whole namespace on one screen.

use std::cmp::Reverse;
use std::time::Instant;

use tenure_proto::v1::{ClaimState, ListLocksResponse, ListServersResponse, ListSessionsResponse, Lock, Session};

use super::Shown;
use super::locks::{describe_claim, or_dash};
use super::servers::servers;
use super::style::{Tint, bold, escape};
use super::table::{Table, column, ids, numbers, tinted};
use super::terms::{chain, cycles};
use super::time::{duration, known, rough};

/// The whole state at one moment.
#[derive(Debug)]
pub struct State {
    pub at: Instant,
    pub servers: ListServersResponse,
    pub locks: ListLocksResponse,
    pub sessions: ListSessionsResponse,
    /// The endpoints that did not return their sessions, with the reasons.
    pub silent: Vec<(String, String)>,
}

fn is_held(claim: &tenure_proto::v1::Claim) -> bool {
    claim.state() == ClaimState::Held
}

/// The screen, with at most `rows` rows in each table. With the state before, it shows the rate of events since then.
pub fn top(namespace: &str, rows: usize, before: Option<&State>, now: &State) -> String {
    let (sessions, locks) = (&now.sessions.sessions, &now.locks.locks);
    let held = locks.iter().filter(|lock| lock.holders.iter().any(is_held)).count();
    let waited_for = locks.iter().filter(|lock| lock.waiter_count > 0).count();
    let waiting: u64 = locks.iter().map(|lock| lock.waiter_count).sum();
    let mut head = format!("namespace {}, revision {}", escape(namespace), now.locks.revision);
    if let Some(rate) = before.and_then(|before| rate(before, now)) {
        head.push_str(&format!(" ({rate:.1} events a second)"));
    }
    let mut parts = vec![
        bold(&head),
        format!("{} sessions open; {held} locks held; {waited_for} waited for, by {waiting}", sessions.len()),
        String::new(),
    ];
    let Shown { text, note } = servers(&now.servers);
    parts.extend(text.into_iter().chain(note));
    for (endpoint, why) in &now.silent {
        parts.push(format!("{}: {}", escape(endpoint), escape(why)));
    }
    parts.push(format!("\n{}\n{}", bold("LATE RENEWALS (less than half of the TTL left)"), late(sessions, rows)));
    parts.push(format!("\n{}\n{}", bold("LOCKS, the most waited for first"), busiest(locks, rows)));
    for cycle in locks.iter().flat_map(|lock| cycles(&lock.waiters)) {
        parts.push(format!("deadlock: {}", chain(&cycle)));
    }
    parts.join("\n")
}

#[allow(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(before: &State, now: &State) -> Option<f64> {
    let events = now.locks.revision.checked_sub(before.locks.revision)?;
    let passed = now.at.saturating_duration_since(before.at).as_secs_f64();
    (passed > 0.0).then(|| events as f64 / passed)
}

/// The sessions with less than half of their TTL left, those that expire soonest first. Clients renew early enough to
/// keep more than that.
fn late(sessions: &[Session], rows: usize) -> String {
    let is_late = |session: &&Session| match (known(session.remaining), known(session.ttl)) {
        (Some(left), Some(ttl)) => left < ttl / 2,
        _ => false,
    };
    let mut late: Vec<&Session> = sessions.iter().filter(is_late).collect();
    late.sort_by_key(|session| known(session.remaining));
    if late.is_empty() {
        return "none".to_owned();
    }
    let mut table = Table::new([
        ids("SESSION", 3),
        column("OWNER", 1),
        numbers("LEFT", 1),
        numbers("OF TTL", 2),
        column("HOLDS", 1),
    ]);
    for session in late.iter().take(rows) {
        let held = session.claims.iter().filter(|claim| is_held(claim)).flat_map(|claim| &claim.names);
        let held: Vec<String> = held.map(|name| escape(name)).collect();
        table.row([
            escape(&session.id).into(),
            or_dash(&session.owner).into(),
            tinted(rough(session.remaining), Tint::Bad),
            duration(session.ttl).into(),
            or_dash(&held.join(" ")).into(),
        ]);
    }
    table.finish() + &more(late.len(), rows)
}

/// The locks, those with the most waiters first.
fn busiest(locks: &[Lock], rows: usize) -> String {
    if locks.is_empty() {
        return "no lock is held or waited for".to_owned();
    }
    let mut locks: Vec<&Lock> = locks.iter().collect();
    locks.sort_by_key(|lock| Reverse(lock.waiter_count));
    let mut table = Table::new([
        column("NAME", 1),
        column("HOLDER", 2),
        numbers("TOKEN", 3),
        numbers("WAITING", 1),
        column("NEXT", 4),
    ]);
    for lock in locks.iter().take(rows) {
        let holder = lock.holders.iter().find(|claim| is_held(claim));
        let who = match (holder, lock.holder_count) {
            (None, _) => "-".to_owned(),
            (Some(claim), 0 | 1) => describe_claim(claim),
            (Some(claim), count) => format!("{} and {} more", describe_claim(claim), count - 1),
        };
        table.row([
            escape(&lock.name).into(),
            who.into(),
            holder.map_or_else(|| "-".to_owned(), |claim| claim.token.to_string()).into(),
            lock.waiter_count.to_string().into(),
            lock.waiters.first().map_or_else(|| "-".to_owned(), describe_claim).into(),
        ]);
    }
    table.finish() + &more(locks.len(), rows)
}

fn more(count: usize, rows: usize) -> String {
    match count.saturating_sub(rows) {
        0 => String::new(),
        more => format!("\n… and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_proto::v1::Claim;

    use super::*;

    fn millis(millis: i32) -> Option<prost_types::Duration> {
        Some(prost_types::Duration { seconds: (millis / 1000).into(), nanos: millis % 1000 * 1_000_000 })
    }

    fn session(id: &str, left: Option<prost_types::Duration>) -> Session {
        Session { id: id.into(), ttl: millis(3_000), remaining: left, ..Session::default() }
    }

    fn state(revision: u64, at: Instant) -> State {
        let holder = Claim { session_id: "a".into(), token: 7, state: ClaimState::Held.into(), ..Claim::default() };
        let waiter = Claim { session_id: "b".into(), state: ClaimState::Waiting.into(), ..Claim::default() };
        let quiet = Lock { name: "quiet".into(), holders: vec![holder], holder_count: 1, ..Lock::default() };
        let busy = Lock { name: "busy".into(), waiters: vec![waiter], waiter_count: 3, ..quiet.clone() };
        let sessions = vec![
            session("in-time", millis(2_000)),
            session("late", millis(1_400)),
            session("last", millis(100)),
            session("elsewhere", None),
        ];
        State {
            at,
            servers: ListServersResponse::default(),
            locks: ListLocksResponse { locks: vec![quiet, busy], revision, ..Default::default() },
            sessions: ListSessionsResponse { sessions, ..Default::default() },
            silent: vec![],
        }
    }

    fn row_of(text: &str, start: &str) -> usize {
        text.lines().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in\n{text}"))
    }

    #[test]
    fn the_late_come_first_and_the_quiet_last() {
        let text = top("default", 10, None, &state(9, Instant::now()));
        assert!(text.contains("4 sessions open; 2 locks held; 1 waited for, by 3"), "{text}");
        assert!(row_of(&text, "last ") < row_of(&text, "late "), "{text}");
        assert!(!text.contains("in-time") && !text.contains("elsewhere"), "{text}");
        assert!(row_of(&text, "busy ") < row_of(&text, "quiet "), "{text}");
    }

    #[test]
    fn changes_are_shown_as_a_rate_and_the_rest_as_a_number() {
        let begun = Instant::now();
        let (before, now) = (state(10, begun), state(40, begun + Duration::from_secs(2)));
        let text = top("default", 1, Some(&before), &now);
        assert!(text.contains("revision 40 (15.0 events a second)"), "{text}");
        assert_eq!(text.matches("… and 1 more").count(), 2, "{text}");
    }
}
