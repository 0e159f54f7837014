//! Formats locks and claims as text.

use std::collections::BTreeMap;

use tenure_proto::v1::{Claim, ClaimState, GetLockResponse, ListLocksResponse, Lock, Mode};

use super::Shown;
use super::style::{Tint, escape};
use super::table::{Cell, Table, column, ids, numbers, tinted, unbroken};
use super::terms::{cycles, held_mode, in_mode, mode, notes, permits_out, settings};
use super::time::{duration, time};

/// Describes the claim's owner: the owner label, and the session.
pub fn describe_claim(claim: &Claim) -> String {
    who(&claim.owner, &claim.session_id)
}

/// Describes an owner: the owner label, and the session.
pub fn who(owner: &str, session: &str) -> String {
    let session = escape(session);
    match owner {
        "" => format!("session {session}"),
        owner => format!("{} (session {session})", escape(owner)),
    }
}

/// Describes a claim that is in the way.
pub fn describe_obstacle(claim: &Claim) -> String {
    let who = describe_claim(claim);
    match (claim.state(), claim.token) {
        (ClaimState::Lingering, _) => format!("free once the minimum hold of {who} is over"),
        (_, 0) => format!("{who} waits ahead"),
        (_, token) => format!("held by {who}, token {token}{}", in_mode(claim)),
    }
}

/// A list of the locks whose names start with `prefix`.
pub fn locks(response: &ListLocksResponse, prefix: &str) -> Shown {
    if response.locks.is_empty() {
        let which =
            if prefix.is_empty() { String::new() } else { format!(" whose name begins with {}", escape(prefix)) };
        return Shown::nothing(format!("no lock{which} is held or waited for"));
    }
    let mut table = Table::new([
        column("NAME", 1),
        column("STATE", 2),
        column("MODE", 5),
        column("HOLDER", 2),
        ids("SESSION", 6),
        numbers("TOKEN", 3),
        numbers("WAITING", 4),
    ]);
    for lock in &response.locks {
        let (name, held) = (escape(&lock.name), held_mode(lock));
        let waiting = match cycles(&lock.waiters).len() {
            0 => Cell::from(lock.waiter_count.to_string()),
            _ => tinted(format!("{} (deadlock)", lock.waiter_count), Tint::Bad),
        };
        let dash = || Cell::from("-");
        if lock.holders.is_empty() {
            let state = if lock.waiter_count > 0 { tinted("waited for", Tint::Notice) } else { "idle".into() };
            table.row([name.into(), state, held.into(), dash(), dash(), dash(), waiting]);
            continue;
        }
        for holder in &lock.holders {
            table.row([
                name.clone().into(),
                state(holder, ""),
                held.clone().into(),
                or_dash(&holder.owner).into(),
                escape(&holder.session_id).into(),
                holder.token.to_string().into(),
                waiting.clone(),
            ]);
        }
        if let Some(more) = more_holders(lock) {
            let held_by = format!("… and {more} more");
            table.row([name.into(), "held".into(), held.into(), held_by.into(), dash(), dash(), waiting]);
        }
    }
    table.finish().into()
}

/// One lock with its queue.
pub fn lock(response: &GetLockResponse) -> String {
    let Some(lock) = &response.lock else { return "not held".to_owned() };
    let name = escape(&lock.name);
    let mut text = format!("{name}: {}\nrevision {}", describe_holders(lock), response.revision);
    if lock.settings.is_some() {
        text.push_str(&format!("\nset: {}", settings(lock.settings.as_ref())));
    }
    let claims = lock.holders.iter().chain(&lock.waiters);
    text.push_str(&notes(claims.clone()));
    if !lock.holders.is_empty() || !lock.waiters.is_empty() {
        text.push_str(&format!("\n\n{}", rows(claims, true)));
    }
    if let Some(more) = more_holders(lock) {
        text.push_str(&format!("\n… and {more} more who hold it"));
    }
    let shown = lock.waiters.len() as u64;
    if lock.waiter_count > shown {
        text.push_str(&format!("\n… and {} more", lock.waiter_count - shown));
    }
    text
}

/// Describes who holds a lock.
pub fn describe_holders(lock: &Lock) -> String {
    match lock.holders.as_slice() {
        [] if lock.limit > 0 => format!("none of its {} permits are held", lock.limit),
        [] => "not held".to_owned(),
        [claim] if claim.state() == ClaimState::Lingering => format!(
            "not held; {} released it early, and it is not granted until its minimum hold of {} is over",
            describe_claim(claim),
            duration(claim.min_hold),
        ),
        [claim] => format!("held by {}, token {}{}", describe_claim(claim), claim.token, in_mode(claim)),
        [claim, ..] if claim.mode() == Mode::Permits => {
            format!("held by {}: {} of {} permits are out", lock.holder_count, permits_out(lock), lock.limit)
        }
        [claim, ..] => format!("held by {}{}", lock.holder_count, in_mode(claim)),
    }
}

/// The number of holders beyond those shown.
fn more_holders(lock: &Lock) -> Option<u64> {
    lock.holder_count.checked_sub(lock.holders.len() as u64).filter(|more| *more > 0)
}

/// Claims, one per row.
pub fn claims<'a>(claims: impl Iterator<Item = &'a Claim>) -> String {
    rows(claims, false)
}

/// Claims, one per row; the waiting ones of a single queue are `numbered`.
fn rows<'a>(claims: impl Iterator<Item = &'a Claim>, numbered: bool) -> String {
    let mut table = Table::new([
        column("STATE", 1),
        column("OWNER", 1),
        ids("SESSION", 3),
        numbers("TOKEN", 2),
        unbroken("SINCE", 8),
        column("MODE", 4),
        numbers("PRIORITY", 6),
        column("NAMES", 5),
        column("METADATA", 7),
    ]);
    let mut waiting = 0;
    for claim in claims {
        let mut place = String::new();
        if numbered && claim.state() == ClaimState::Waiting {
            waiting += 1;
            place = format!(" #{waiting}");
        }
        table.row([
            state(claim, &place),
            or_dash(&claim.owner).into(),
            escape(&claim.session_id).into(),
            if claim.token == 0 { "-".to_owned() } else { claim.token.to_string() }.into(),
            time(claim.granted_at).into(),
            mode(claim).into(),
            claim.priority.to_string().into(),
            claim.names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(" ").into(),
            metadata(&claim.metadata).into(),
        ]);
    }
    table.finish()
}

/// The name of a claim's state, with its place.
fn state(claim: &Claim, place: &str) -> Cell {
    let (state, tint) = match claim.state() {
        ClaimState::Waiting if !claim.deadlock.is_empty() => {
            return tinted(format!("waiting{place} (deadlock)"), Tint::Bad);
        }
        ClaimState::Waiting => ("waiting", Tint::Plain),
        ClaimState::Held if claim.transfer.is_some() => ("handing over", Tint::Notice),
        ClaimState::Held => ("held", Tint::Good),
        ClaimState::Lingering => ("lingering", Tint::Notice),
        ClaimState::Unspecified => ("unknown", Tint::Plain),
    };
    tinted(format!("{state}{place}"), tint)
}

/// Labels as `key=value`, sorted by key.
pub fn metadata(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{}={}", escape(key), escape(value))).collect();
    if pairs.is_empty() { "-".to_owned() } else { pairs.join(" ") }
}

/// The text, or a dash if it is empty.
pub fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { escape(text) }
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::{LockSettings, PendingTransfer};

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

    fn listed(all: Vec<Lock>) -> String {
        locks(&ListLocksResponse { locks: all, ..Default::default() }, "").text.unwrap()
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
        let text = listed(vec![lock]);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["NAME", "STATE", "MODE", "HOLDER", "SESSION", "TOKEN", "WAITING"]);
        assert_eq!(rows[1], ["nightly", "held", "exclusive", "host-a", "worker-7", "41", "1"]);
    }

    #[test]
    fn lock_without_a_holder_is_marked() {
        let none = ListLocksResponse::default();
        assert_eq!(locks(&none, ""), Shown::nothing("no lock is held or waited for"));
        assert_eq!(locks(&none, "jobs/"), Shown::nothing("no lock whose name begins with jobs/ is held or waited for"));
        let idle = Lock { name: "nightly".into(), ..Lock::default() };
        let text = lock(&GetLockResponse { lock: Some(idle), revision: 9 });
        assert_eq!(text, "nightly: not held\nrevision 9");
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

    fn permits(session: &str, token: u64, permits: u32) -> Claim {
        let mode = Mode::Permits.into();
        Claim { session_id: session.into(), token, mode, permits, limit: 5, ..held() }
    }

    #[test]
    fn several_holders_are_shown_with_what_is_out_of_the_limit() {
        let holders = vec![permits("worker-1", 41, 1), permits("worker-2", 42, 2)];
        let pool = Lock { name: "pool".into(), holders, holder_count: 2, limit: 5, ..Lock::default() };
        let text = listed(vec![pool.clone()]);
        let row = |number: usize| text.lines().nth(number).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row(1), "pool held 3/5 host-a worker-1 41 0");
        assert_eq!(row(2), "pool held 3/5 host-a worker-2 42 0");
        let text = lock(&GetLockResponse { lock: Some(Lock { holder_count: 3, ..pool }), revision: 50 });
        assert!(text.starts_with("pool: held by 3: 3+ of 5 permits are out\n"), "{text}");
        assert!(text.contains("  2/5  ") && text.ends_with("… and 1 more who hold it"), "{text}");
    }

    #[test]
    fn reader_is_distinguished_from_a_writer() {
        let reader = Claim { mode: Mode::Shared.into(), ..held() };
        let lock = Lock { holders: vec![reader.clone()], holder_count: 1, ..Lock::default() };
        assert_eq!(describe_holders(&lock), "held by host-a (session worker-7), token 41, shared");
        let lock = Lock { holders: vec![reader.clone(), reader], holder_count: 2, ..Lock::default() };
        assert_eq!(describe_holders(&lock), "held by 2, shared");
    }

    #[test]
    fn settings_handoffs_and_deadlocks_are_shown() {
        let transfer = Some(PendingTransfer {
            to_session_id: "worker-8".into(),
            drain: Some(prost_types::Duration { seconds: 9, nanos: 0 }),
            ..Default::default()
        });
        let cycle = ["worker-8", "worker-7"].map(str::to_owned).to_vec();
        let lock_ = Lock {
            name: "nightly".into(),
            holders: vec![Claim { transfer, ..held() }],
            holder_count: 1,
            waiters: vec![Claim { deadlock: cycle, ..waiting("worker-8") }],
            waiter_count: 1,
            settings: Some(LockSettings { limit: 5, preempt: None }),
            ..Lock::default()
        };
        let text = lock(&GetLockResponse { lock: Some(lock_.clone()), revision: 50 });
        assert!(text.contains("\nset: limit 5\n"), "{text}");
        assert!(text.contains("\ntoken 41 is asked to hand over to session worker-8 within 9s\n"), "{text}");
        assert!(text.contains("\ndeadlock: worker-7 -> worker-8 -> worker-7\n"), "{text}");
        assert!(text.contains("\nhanding over ") && text.contains("\nwaiting #1 (deadlock) "), "{text}");
        let text = listed(vec![lock_]);
        assert!(text.contains("handing over") && text.ends_with("1 (deadlock)"), "{text}");
    }

    #[test]
    fn names_cannot_control_the_terminal() {
        let evil = Lock { name: "a\u{1b}[2J".into(), waiter_count: 1, ..Lock::default() };
        let text = listed(vec![evil]);
        assert!(!text.contains('\u{1b}'));
    }
}
