//! Explains the state of a lock on one screen of text.

use std::fmt::Write;

use serde_json::json;
use tenure_proto::v1::{
    Claim, ClaimState, EndReason, HoldRecord, ListHistoryResponse, Lock, Session, history_entry::Kind,
};

use super::history::entries;
use super::json::value;
use super::locks::{describe_claim, metadata, who};
use super::style::escape;
use super::time::{known, rough, time};
use crate::exit::Failure;

/// The maximum number of waiters shown.
const WAITERS: usize = 10;

/// The state of a lock with its causes.
pub struct Explanation {
    /// The lock.
    pub lock: Lock,
    /// The revision of this state.
    pub revision: u64,
    /// The holder's session.
    pub session: Option<Session>,
    /// If the lock has no holder: another name that the first waiter lacks, and the claim that blocks it there.
    pub elsewhere: Option<(String, Claim)>,
    /// Its history, newest first.
    pub history: ListHistoryResponse,
}

impl Explanation {
    /// The state as JSON, for programs.
    ///
    /// # Errors
    /// A message is not a part of the API.
    pub fn json(&self) -> Result<serde_json::Value, Failure> {
        let waiters = self.lock.waiters.iter().enumerate().map(|(at, claim)| {
            let blocker = self.blocker(at).map(|(_, blocker)| value(blocker)).transpose()?;
            Ok(json!({"claim": value(claim)?, "blockedBy": blocker}))
        });
        Ok(json!({
            "lock": value(&self.lock)?,
            "revision": self.revision.to_string(),
            "session": self.session.as_ref().map(value).transpose()?,
            "waiters": waiters.collect::<Result<Vec<_>, Failure>>()?,
            "history": value(&self.history)?,
        }))
    }

    fn holds(&self) -> impl Iterator<Item = &HoldRecord> {
        self.history.entries.iter().filter_map(|entry| match &entry.kind {
            Some(Kind::Hold(hold)) => Some(hold),
            _ => None,
        })
    }

    /// The claim that blocks a waiter, and its lock.
    fn blocker(&self, waiter: usize) -> Option<(&str, &Claim)> {
        let here = |claim| (self.lock.name.as_str(), claim);
        match (self.lock.holders.first(), waiter.checked_sub(1)) {
            (Some(holder), _) => Some(here(holder)),
            (None, Some(ahead)) => self.lock.waiters.get(ahead).map(here),
            (None, None) => self.elsewhere.as_ref().map(|(name, claim)| (name.as_str(), claim)),
        }
    }
}

/// Formats the explanation on one screen.
pub fn why(explanation: &Explanation) -> String {
    let name = escape(&explanation.lock.name);
    let held = explanation.lock.holders.iter().find(|claim| claim.state() == ClaimState::Held);
    let mut text = match held {
        Some(claim) => holder(&name, claim, explanation),
        None => no_holder(&name, explanation),
    };
    let _ = write!(text, "\n\n{}", waiters(explanation));
    let listed = &explanation.history;
    let _ = match (listed.entries.is_empty(), listed.next_page_token.is_empty()) {
        (false, _) => write!(text, "\n\nhistory:\n\n{}", entries(&listed.entries)),
        (true, true) if listed.kept_since.is_none() => write!(text, "\n\nnever held"),
        (true, true) => write!(text, "\n\nno holds since {}, as far as history is kept", time(listed.kept_since)),
        (true, false) => {
            // The name may look like an option, and may contain syntax of the shell.
            let quoted = shlex::try_quote(&name).unwrap_or_default();
            write!(text, "\n\nno recent holds; to search further back: tenure history -- {quoted}")
        }
    };
    text
}

fn holder(name: &str, claim: &Claim, explanation: &Explanation) -> String {
    let mut text = format!("{name}: held by {}, token {}", describe_claim(claim), claim.token);
    let hold = explanation.holds().find(|hold| hold.token == claim.token);
    if let Some(hold) = hold {
        let since = match hold.granted_time.or(claim.granted_at) {
            since @ Some(_) if hold.held.is_none() => time(since),
            since @ Some(_) => format!("{}, for {}", time(since), rough(hold.held)),
            None => "before the history that is kept".to_owned(),
        };
        let _ = write!(text, "\n  since     {since}; it waited {}", rough(hold.waited));
    } else if claim.granted_at.is_some() {
        let _ = write!(text, "\n  since     {}", time(claim.granted_at));
    }
    match &explanation.session {
        None => text.push_str("\n  session   has just ended"),
        Some(session) if session.remaining.is_none() => {
            let ttl = rough(session.ttl);
            let _ = write!(text, "\n  session   TTL {ttl}; renewed at a server that is not among the endpoints");
        }
        Some(session) => {
            let (ttl, left) = (rough(session.ttl), rough(session.remaining));
            let _ = write!(text, "\n  session   TTL {ttl}, remaining at least {left}");
            if let Some(hold) = hold.filter(|hold| hold.since_renewal.is_some()) {
                let _ = write!(text, ", renewed {} ago", rough(hold.since_renewal));
            }
        }
    }
    if let Some(hold) = hold.filter(|hold| hold.longest_pause.is_some()) {
        let ttl = explanation.session.as_ref().and_then(|session| session.ttl).or(hold.ttl);
        let _ = write!(text, "\n  renewals  {}", pauses(hold, ttl));
    }
    if !claim.metadata.is_empty() {
        let _ = write!(text, "\n  metadata  {}", metadata(&claim.metadata));
    }
    if claim.names.len() > 1 {
        let names: Vec<String> = claim.names.iter().map(|name| escape(name)).collect();
        let _ = write!(text, "\n  names     {}", names.join(" "));
    }
    text
}

fn no_holder(name: &str, explanation: &Explanation) -> String {
    let mut text = format!("{name}: not held");
    if let Some(claim) = explanation.lock.holders.first() {
        let _ = write!(
            text,
            "\n  lingers   not granted until {} after its last grant: the minimum hold of {}",
            rough(claim.min_hold),
            describe_claim(claim)
        );
    }
    let Some(last) = explanation.holds().find(|hold| hold.ended_time.is_some()) else { return text };
    let _ = write!(text, "\n  last      {}, token {}", who(&last.owner, &last.session_id), last.token);
    let _ = write!(text, "\n  until     {}, for {}", time(last.ended_time), rough(last.held));
    let _ = write!(text, "\n  ended     {}", explain_end(last));
    if last.longest_pause.is_some() {
        let _ = write!(text, "\n  renewals  {}", pauses(last, last.ttl));
    }
    text
}

fn waiters(explanation: &Explanation) -> String {
    let lock = &explanation.lock;
    if lock.waiters.is_empty() {
        return "no waiters".to_owned();
    }
    let mut text = format!("{} waiting:", lock.waiter_count);
    for (at, claim) in lock.waiters.iter().enumerate().take(WAITERS) {
        let behind = match explanation.blocker(at) {
            None => "next in the queue".to_owned(),
            Some((name, blocker)) if name == lock.name => format!("behind {}", describe_claim(blocker)),
            Some((name, blocker)) => {
                let (name, who) = (escape(name), describe_claim(blocker));
                match blocker.state() {
                    ClaimState::Waiting => format!("also needs {name}, behind {who}"),
                    _ => format!("also needs {name}, held by {who}"),
                }
            }
        };
        let _ = write!(text, "\n  #{}  {}, {behind}", at + 1, describe_claim(claim));
    }
    let more = lock.waiter_count.saturating_sub(lock.waiters.len().min(WAITERS) as u64);
    if more > 0 {
        let _ = write!(text, "\n  … and {more} more");
    }
    text
}

/// The longest pause between renewals of a hold, with a note if it is suspicious.
fn pauses(hold: &HoldRecord, ttl: Option<prost_types::Duration>) -> String {
    let text = format!("at most {} apart", rough(hold.longest_pause));
    match (known(hold.longest_pause), known(ttl)) {
        (Some(pause), Some(length)) if pause > length / 2 => {
            format!("{text}, of a TTL of {}: its holder was slow, or cut off", rough(ttl))
        }
        (_, Some(_)) => format!("{text}, of a TTL of {}", rough(ttl)),
        _ => text,
    }
}

/// The reason why a hold ended, with its meaning.
fn explain_end(hold: &HoldRecord) -> String {
    let why = super::history::why(hold);
    let meaning = match hold.end_reason() {
        EndReason::Released => "its holder released it",
        EndReason::Expired => "its session was not renewed for the TTL",
        EndReason::Disconnected => "the session's stream broke, or its client was not connected to receive the grant",
        EndReason::Closed => "its client closed the session",
        EndReason::Evicted => "an operator evicted it",
        EndReason::Transferred => "it was handed over to a waiter",
        EndReason::Unspecified => return why,
    };
    format!("{why}: {meaning}")
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::HistoryEntry;

    use super::*;

    fn seconds(seconds: i64) -> Option<prost_types::Duration> {
        Some(prost_types::Duration { seconds, nanos: 0 })
    }

    fn claim(id: u64, session: &str, token: u64, names: &[&str]) -> Claim {
        let state = if token == 0 { ClaimState::Waiting } else { ClaimState::Held };
        Claim {
            id,
            names: names.iter().map(ToString::to_string).collect(),
            state: state.into(),
            token,
            session_id: session.into(),
            ..Claim::default()
        }
    }

    fn record(session: &str, token: u64) -> HoldRecord {
        HoldRecord {
            session_id: session.into(),
            token,
            granted_time: Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 0 }),
            held: seconds(70),
            waited: seconds(3),
            longest_pause: seconds(4),
            ttl: seconds(10),
            ..HoldRecord::default()
        }
    }

    fn ended(session: &str, token: u64, reason: EndReason) -> HoldRecord {
        let ended_time = Some(prost_types::Timestamp { seconds: 1_700_000_070, nanos: 0 });
        HoldRecord { ended_time, end_reason: reason.into(), longest_pause: seconds(10), ..record(session, token) }
    }

    fn explanation(holders: Vec<Claim>, waiters: Vec<Claim>, holds: Vec<HoldRecord>) -> Explanation {
        let waiter_count = waiters.len() as u64;
        let entries = holds.into_iter().map(|hold| HistoryEntry { kind: Some(Kind::Hold(hold)) }).collect();
        Explanation {
            lock: Lock { name: "job".into(), holders, waiters, waiter_count, ..Lock::default() },
            revision: 50,
            session: None,
            elsewhere: None,
            history: ListHistoryResponse { entries, ..ListHistoryResponse::default() },
        }
    }

    #[test]
    fn a_holder_is_shown_with_its_renewals_and_its_queue() {
        let waiters = vec![claim(42, "s2", 0, &["job"]), claim(43, "s3", 0, &["job"])];
        let mut held = explanation(vec![claim(40, "s1", 41, &["job"])], waiters, vec![record("s1", 41)]);
        held.history.entries.iter_mut().for_each(|entry| {
            if let Some(Kind::Hold(hold)) = &mut entry.kind {
                hold.since_renewal = seconds(2);
            }
        });
        held.session = Some(Session { ttl: seconds(10), remaining: seconds(8), ..Session::default() });
        let text = why(&held);
        let head = "job: held by session s1, token 41\n  since     2023-11-14T22:13:20Z, for 1m10s; it waited 3s\n  \
            session   TTL 10s, remaining at least 8s, renewed 2s ago\n  renewals  at most 4s apart, of a TTL of 10s\n\n\
            2 waiting:\n  #1  session s2, behind session s1\n  #2  session s3, behind session s1\n\nhistory:";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn lock_without_a_holder_is_explained() {
        let text = why(&explanation(Vec::new(), Vec::new(), vec![ended("s1", 41, EndReason::Expired)]));
        let head = "job: not held\n  last      session s1, token 41\n  until     2023-11-14T22:14:30Z, for 1m10s\n  \
            ended     expired: its session was not renewed for the TTL\n  \
            renewals  at most 10s apart, of a TTL of 10s: its holder was slow, or cut off\n\nno waiters";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn waiter_may_be_blocked_at_another_lock() {
        let waiters = vec![claim(42, "s2", 0, &["job", "other"]), claim(43, "s3", 0, &["job"])];
        let mut idle = explanation(Vec::new(), waiters, Vec::new());
        idle.elsewhere = Some(("other".into(), claim(9, "s9", 10, &["other"])));
        let text = why(&idle);
        assert!(text.contains("#1  session s2, also needs other, held by session s9\n"), "{text}");
        assert!(text.contains("#2  session s3, behind session s2"), "{text}");
        let json = idle.json().unwrap();
        assert_eq!(json["waiters"][0]["blockedBy"]["sessionId"], "s9");
        assert_eq!(json["waiters"][1]["blockedBy"]["sessionId"], "s2");
        assert_eq!((&json["session"], &json["revision"]), (&serde_json::Value::Null, &json!("50")));
    }

    #[test]
    fn name_in_a_line_to_copy_is_never_an_option_or_a_command() {
        let mut idle = explanation(Vec::new(), Vec::new(), Vec::new());
        idle.history.next_page_token = "more".into();
        for name in ["--endpoints=http://evil:1", "$(exit 7)", "it's", "a b"] {
            idle.lock.name = name.into();
            let text = why(&idle);
            let (_, line) = text.rsplit_once("further back: ").unwrap();
            assert_eq!(shlex::split(line).unwrap(), ["tenure", "history", "--", name], "{line}");
        }
    }

    #[test]
    fn unknown_values_are_not_invented() {
        let mut idle = explanation(Vec::new(), Vec::new(), Vec::new());
        assert!(why(&idle).ends_with("never held"));
        idle.history.kept_since = Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 0 });
        assert!(why(&idle).ends_with("no holds since 2023-11-14T22:13:20Z, as far as history is kept"));
        idle.history.next_page_token = "more".into();
        assert!(why(&idle).ends_with("to search further back: tenure history -- job"));
        let bare = HoldRecord { token: 41, ..HoldRecord::default() };
        let text = why(&explanation(vec![claim(40, "s1", 41, &["job"])], Vec::new(), vec![bare]));
        assert!(text.contains("since     before the history that is kept; it waited -"), "{text}");
        assert!(!text.contains("renewals"), "{text}");
        // One of many holders, whose history is not listed.
        let since = Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 0 });
        let text = why(&explanation(
            vec![Claim { granted_at: since, ..claim(40, "s1", 41, &["job"]) }],
            Vec::new(),
            Vec::new(),
        ));
        assert!(text.contains("  since     2023-11-14T22:13:20Z\n"), "{text}");
    }
}
