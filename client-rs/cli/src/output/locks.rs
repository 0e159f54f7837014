//! Locks and claims as text.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_proto::v1::{Claim, ClaimState, GetLockResponse, ListLocksResponse, Lock};

use super::style::{finish, plain, table};

/// Who has this claim: the owner label, and the session.
pub fn describe_claim(claim: &Claim) -> String {
    let session = plain(&claim.session_id);
    match claim.owner.as_str() {
        "" => format!("session {session}"),
        owner => format!("{} (session {session})", plain(owner)),
    }
}

/// Who has a lock, and how, of a claim of the client library.
pub fn describe_holder(claim: &tenure_client::Claim) -> String {
    let session = plain(&claim.session_id);
    let who = match claim.owner.as_str() {
        "" => format!("session {session}"),
        owner => format!("{} (session {session})", plain(owner)),
    };
    match (claim.state, claim.token) {
        (tenure_client::ClaimState::Lingering, _) => format!("free once the minimum hold of {who} is over"),
        (_, Some(token)) => format!("held by {who}, token {token}"),
        (_, None) => format!("{who} waits ahead"),
    }
}

/// A list of locks.
pub fn locks(response: &ListLocksResponse) -> String {
    if response.locks.is_empty() {
        return "no lock is held or waited for".to_owned();
    }
    let mut table = table(&["NAME", "STATE", "HOLDER", "SESSION", "TOKEN", "WAITING"]);
    for lock in &response.locks {
        let waiting = lock.waiter_count.to_string();
        match lock.holders.as_slice() {
            [] => {
                table.add_row([plain(&lock.name), state(lock).into(), "-".into(), "-".into(), "-".into(), waiting]);
            }
            holders => {
                for holder in holders {
                    table.add_row([
                        plain(&lock.name),
                        state(lock).into(),
                        or_dash(&holder.owner),
                        plain(&holder.session_id),
                        holder.token.to_string(),
                        waiting.clone(),
                    ]);
                }
            }
        }
    }
    finish(&table)
}

/// One lock with its queue.
pub fn lock(response: &GetLockResponse) -> String {
    let Some(lock) = &response.lock else { return "nobody holds it".to_owned() };
    let name = plain(&lock.name);
    let mut text = match lock.holders.first() {
        None => format!("{name}: nobody holds it"),
        Some(claim) if claim.state() == ClaimState::Lingering => format!(
            "{name}: nobody holds it; {} released it early, and it stays free until its minimum hold of {} is over",
            describe_claim(claim),
            duration(claim.min_hold),
        ),
        Some(claim) => format!("{name}: held by {}, token {}", describe_claim(claim), claim.token),
    };
    text.push_str(&format!("\nrevision {}", response.revision));
    if !lock.holders.is_empty() || !lock.waiters.is_empty() {
        text.push_str("\n\n");
        text.push_str(&claims(lock.holders.iter().chain(&lock.waiters)));
    }
    let shown = lock.waiters.len() as u64;
    if lock.waiter_count > shown {
        text.push_str(&format!("\n… and {} more", lock.waiter_count - shown));
    }
    text
}

/// Claims, a row each, the waiting ones numbered by their place in the queue.
pub fn claims<'a>(claims: impl Iterator<Item = &'a Claim>) -> String {
    let mut table = table(&["STATE", "OWNER", "SESSION", "TOKEN", "PRIORITY", "NAMES", "METADATA"]);
    let mut place = 0;
    for claim in claims {
        let state = match claim.state() {
            ClaimState::Waiting => {
                place += 1;
                format!("waiting #{place}")
            }
            state => claim_state(state).to_owned(),
        };
        table.add_row([
            state,
            or_dash(&claim.owner),
            plain(&claim.session_id),
            if claim.token == 0 { "-".to_owned() } else { claim.token.to_string() },
            claim.priority.to_string(),
            claim.names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(" "),
            metadata(&claim.metadata),
        ]);
    }
    finish(&table)
}

/// What a claim's state is called.
pub fn claim_state(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Waiting => "waiting",
        ClaimState::Held => "held",
        ClaimState::Lingering => "lingering",
        ClaimState::Unspecified => "unknown",
    }
}

/// Labels as `key=value`, by key.
pub fn metadata(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{}={}", plain(key), plain(value))).collect();
    if pairs.is_empty() { "-".to_owned() } else { pairs.join(" ") }
}

/// A duration of the contract in words.
pub fn duration(duration: Option<prost_types::Duration>) -> String {
    match duration.and_then(|duration| Duration::try_from(duration).ok()) {
        Some(duration) => {
            let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            humantime::format_duration(Duration::from_millis(millis)).to_string()
        }
        None => "-".to_owned(),
    }
}

pub fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { plain(text) }
}

fn state(lock: &Lock) -> &'static str {
    match lock.holders.first() {
        Some(claim) => claim_state(claim.state()),
        None if lock.waiter_count > 0 => "waited for",
        None => "idle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> Claim {
        Claim {
            id: 40,
            names: vec!["nightly".into()],
            state: ClaimState::Held.into(),
            token: 41,
            session_id: "worker-7".into(),
            owner: "host-a".into(),
            metadata: [("addr".to_owned(), "10.0.0.7".to_owned())].into(),
            ..Claim::default()
        }
    }

    fn waiting(session: &str) -> Claim {
        Claim {
            names: vec!["nightly".into()],
            state: ClaimState::Waiting.into(),
            session_id: session.into(),
            ..Claim::default()
        }
    }

    #[test]
    fn a_list_shows_holder_token_and_queue() {
        let lock = Lock {
            name: "nightly".into(),
            holders: vec![held()],
            waiters: vec![waiting("worker-8")],
            waiter_count: 1,
            ..Lock::default()
        };
        let text = locks(&ListLocksResponse { locks: vec![lock], ..Default::default() });
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["NAME", "STATE", "HOLDER", "SESSION", "TOKEN", "WAITING"]);
        assert_eq!(rows[1], ["nightly", "held", "host-a", "worker-7", "41", "1"]);
    }

    #[test]
    fn nobody_is_said_plainly() {
        assert_eq!(locks(&ListLocksResponse::default()), "no lock is held or waited for");
        let idle = Lock { name: "nightly".into(), ..Lock::default() };
        let text = lock(&GetLockResponse { lock: Some(idle), revision: 9 });
        assert_eq!(text, "nightly: nobody holds it\nrevision 9");
    }

    #[test]
    fn a_lock_shows_its_queue_in_order() {
        let lock_ = Lock {
            name: "nightly".into(),
            holders: vec![held()],
            waiters: vec![waiting("worker-8"), waiting("worker-9")],
            waiter_count: 5,
            ..Lock::default()
        };
        let text = lock(&GetLockResponse { lock: Some(lock_), revision: 50 });
        assert!(text.starts_with("nightly: held by host-a (session worker-7), token 41\nrevision 50\n"), "{text}");
        let first = text.find("waiting #1").unwrap();
        let second = text.find("waiting #2").unwrap();
        assert!(first < second && text[first..second].contains("worker-8"), "{text}");
        assert!(text.contains("addr=10.0.0.7"));
        assert!(text.ends_with("… and 3 more"));
    }

    #[test]
    fn names_of_others_do_not_play_with_the_terminal() {
        let evil = Lock { name: "a\u{1b}[2J".into(), waiter_count: 1, ..Lock::default() };
        let text = locks(&ListLocksResponse { locks: vec![evil], ..Default::default() });
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn durations_are_read_to_the_millisecond() {
        assert_eq!(duration(Some(prost_types::Duration { seconds: 61, nanos: 500_000_001 })), "1m 1s 500ms");
        assert_eq!(duration(None), "-");
    }
}
