//! Describes the state of a lock to a waiter, as text.

use std::time::{Duration, SystemTime};

use tenure_proto::v1::{Claim, ClaimState, Lock};
use tokio::time::Instant;

use crate::output::{ID_WIDTH, escape, human, in_mode, timestamp, truncate_middle};

/// The state of a lock that matters to a waiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitState {
    pub name: String,
    /// The token of the current hold, if there is one.
    pub token: Option<u64>,
    /// The obstacle. The holder is printed after the duration, because an owner label may be long.
    obstacle: &'static str,
    holder_text: String,
    /// The holder's session, if an owner label is shown too.
    session: Option<String>,
    position: String,
}

/// The start of a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldStart {
    pub token: u64,
    /// By the wall clock of the granting server.
    pub granted: Option<SystemTime>,
    /// How long it had been held at the time `seen`.
    pub held: Duration,
    pub seen: Instant,
}

impl WaitState {
    /// The state of the lock for `session`. None if no other claim blocks it.
    pub fn of(lock: &Lock, session: Option<&str>) -> Option<Self> {
        let is_own = |claim: &Claim| Some(claim.session_id.as_str()) == session;
        if lock.holders.iter().any(is_own) {
            return None;
        }
        let at = lock.waiters.iter().position(is_own);
        // If the lock has no holder, the first waiter may still wait for another of its names.
        let first = lock.waiters.first().filter(|_| at.is_none_or(|at| at > 0));
        let claim = lock.holders.first().or(first)?;
        let id = escape(&claim.session_id);
        let (owner, shown_session) = match claim.owner.as_str() {
            "" => (format!("session {id}"), None),
            owner => (escape(owner), Some(id)),
        };
        let others = match lock.holder_count {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let (obstacle, holder_text) = match (claim.state(), claim.token) {
            (ClaimState::Lingering, _) => ("free", format!(" once the minimum hold of {owner} is over")),
            (_, 0) => ("", format!("{owner} waits ahead")),
            (_, _) => ("held", format!(" by {owner}{others}{}", in_mode(claim))),
        };
        Some(Self {
            name: lock.name.clone(),
            token: (claim.state() == ClaimState::Held).then_some(claim.token),
            obstacle,
            holder_text,
            session: shown_session,
            position: position(lock, at, session.is_some()),
        })
    }

    /// The holder, to detect a change.
    pub fn holder(&self) -> (String, Option<u64>) {
        (self.holder_text.clone(), self.token)
    }

    /// The text for a line that is redrawn each second.
    pub fn now(&self, since: Option<&HoldStart>) -> String {
        self.with(since, ID_WIDTH, |since| {
            // Truncated to full seconds, because the line is redrawn once a second.
            let seconds = (since.held + since.seen.elapsed()).as_secs();
            format!(" for {}", human(Duration::from_secs(seconds)))
        })
    }

    /// The text for a permanent line.
    pub fn for_a_log(&self, since: Option<&HoldStart>) -> String {
        self.with(since, usize::MAX, |since| match since.granted {
            Some(granted) => format!(" since {}", timestamp(granted)),
            None => format!(" for {}", human(since.held)),
        })
    }

    fn with(&self, since: Option<&HoldStart>, id_width: usize, held: impl Fn(&HoldStart) -> String) -> String {
        let Self { name, position, obstacle, holder_text, .. } = self;
        let since = since.filter(|since| Some(since.token) == self.token).map(held).unwrap_or_default();
        let session = self.session.as_ref().map(|id| format!(", session {}", truncate_middle(id, id_width)));
        let token = self.token.map(|token| format!(", token {token}"));
        let (session, token) = (session.unwrap_or_default(), token.unwrap_or_default());
        format!("waiting for {}{position}: {obstacle}{since}{holder_text}{session}{token}", escape(name))
    }
}

/// The position in the queue, with a note on deadlock.
fn position(lock: &Lock, at: Option<usize>, has_one: bool) -> String {
    let (count, shown) = (lock.waiter_count, lock.waiters.len());
    match at {
        // Only the first waiters of a long queue are listed.
        None if has_one && count > shown as u64 => format!(" ({shown} or more of {count} are before you)"),
        None => String::new(),
        Some(at) if !lock.waiters[at].deadlock.is_empty() => {
            let cycle = lock.waiters[at].deadlock.iter().chain(lock.waiters[at].deadlock.first());
            let cycle: Vec<String> = cycle.map(|session| escape(session)).collect();
            format!(" (in a DEADLOCK: {})", cycle.join(" -> "))
        }
        Some(0) if count <= 1 => " (you are next)".to_owned(),
        Some(at) => format!(" (you are {} of {count})", ordinal(at + 1)),
    }
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::Mode;

    use super::*;

    fn claim(session: &str, token: u64) -> Claim {
        let state = if token > 0 { ClaimState::Held } else { ClaimState::Waiting };
        Claim { state: state.into(), token, session_id: session.into(), ..Claim::default() }
    }

    fn lock(waiters: &[&str]) -> Lock {
        Lock {
            name: "nightly".into(),
            holders: vec![claim("a", 41)],
            waiters: waiters.iter().map(|session| claim(session, 0)).collect(),
            waiter_count: waiters.len() as u64,
            holder_count: 1,
            ..Lock::default()
        }
    }

    fn of_me(lock: &Lock) -> String {
        WaitState::of(lock, Some("me")).unwrap().now(None)
    }

    #[test]
    fn the_holder_and_the_position_are_shown() {
        assert_eq!(
            of_me(&lock(&["b", "me", "c"])),
            "waiting for nightly (you are 2nd of 3): held by session a, token 41"
        );
        assert!(of_me(&lock(&["me"])).starts_with("waiting for nightly (you are next): "));
        assert!(of_me(&lock(&["me", "c"])).starts_with("waiting for nightly (you are 1st of 2): "));
        assert_eq!(of_me(&lock(&[])), "waiting for nightly: held by session a, token 41");
        let mut owned = lock(&["me"]);
        owned.holders[0].owner = "host-a".into();
        assert!(of_me(&owned).ends_with(": held by host-a, session a, token 41"));
    }

    #[test]
    fn a_position_beyond_the_listed_waiters_is_shown_as_a_bound() {
        let long = Lock { waiter_count: 250, ..lock(&["b", "c"]) };
        assert!(of_me(&long).starts_with("waiting for nightly (2 or more of 250 are before you): held by"));
        assert!(WaitState::of(&long, None).unwrap().now(None).starts_with("waiting for nightly: held by"));
    }

    #[test]
    fn the_start_of_the_hold_is_shown_if_known() {
        let state = WaitState::of(&lock(&["me"]), Some("me")).unwrap();
        let granted = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        // From a later moment on, so that no time is added.
        let seen = Instant::now() + Duration::from_secs(60);
        let since = HoldStart { token: 41, granted, held: Duration::from_millis(192_900), seen };
        assert!(state.now(Some(&since)).ends_with("held for 3m12s by session a, token 41"));
        assert!(state.for_a_log(Some(&since)).ends_with("held since 2023-11-14T22:13:20Z by session a, token 41"));
        let of_another = HoldStart { token: 40, ..since };
        assert!(state.now(Some(&of_another)).ends_with("held by session a, token 41"));
        let by_duration = HoldStart { granted: None, ..since };
        assert!(state.for_a_log(Some(&by_duration)).ends_with("held for 3m12s by session a, token 41"));
    }

    #[test]
    fn several_holders_are_counted() {
        let mut lock = lock(&["me"]);
        lock.holders[0].set_mode(Mode::Shared);
        lock.holders.push(claim("b", 42));
        lock.holder_count = 2;
        assert!(of_me(&lock).ends_with(": held by session a and 1 more, shared, token 41"), "{}", of_me(&lock));
    }

    #[test]
    fn an_own_hold_and_an_own_turn_block_nothing() {
        assert_eq!(WaitState::of(&lock(&[]), Some("a")), None);
        let idle = Lock { holders: Vec::new(), holder_count: 0, ..lock(&["me", "b"]) };
        assert_eq!(WaitState::of(&idle, Some("me")), None);
        let ahead = Lock { holders: Vec::new(), holder_count: 0, ..lock(&["b", "me"]) };
        assert!(of_me(&ahead).ends_with("(you are 2nd of 2): session b waits ahead"), "{}", of_me(&ahead));
    }

    #[test]
    fn a_deadlock_is_shown_first() {
        let mut lock = lock(&["me"]);
        lock.waiters[0].deadlock = vec!["me".into(), "a".into()];
        assert!(
            of_me(&lock).starts_with("waiting for nightly (in a DEADLOCK: me -> a -> me): held by"),
            "{}",
            of_me(&lock)
        );
    }

    #[test]
    fn places_are_ordinals() {
        let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(ordinals.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th");
    }
}
