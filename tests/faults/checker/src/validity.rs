//! Checks that holds are valid while the library says so, and that sessions live as long as promised.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::{EndReason, Event};

use crate::history::{History, Renewal, Sharing, ValidHold};
use crate::past::{Moment, Past};
use crate::{PRECISION, Violations};

/// Factor on the TTL that allows for rate differences between host clocks.
const RATE: f64 = 0.999;

/// Time within which a client notices that the database lost its hold, once servers can reach the database again.
const LOSS_NOTICED: Duration = Duration::from_secs(10);

/// At any time, the valid holds of a lock are compatible. Holds that the database lost are excluded: see
/// [`ends_with_the_hold`].
pub(crate) fn is_exclusive(history: &History, past: &Past, found: &mut Violations) {
    let mut by_name: BTreeMap<&str, BTreeMap<u64, (Sharing, Duration, Duration)>> = BTreeMap::new();
    for ValidHold { at, names, token, sharing } in &history.valid_holds {
        for name in names {
            let holds = by_name.entry(name).or_default();
            let (_, _, last) = holds.entry(*token).or_insert((*sharing, *at, *at));
            *last = (*last).max(*at);
        }
    }
    for (name, holds) in by_name {
        let mut longest: BTreeMap<u64, (Sharing, Duration)> = BTreeMap::new();
        for (token, (sharing, first, last)) in holds {
            longest.retain(|_, (_, last)| first + PRECISION < *last);
            for (earlier, (other, until)) in &longest {
                if !sharing.is_compatible_with(*other) && past.loss_of(*earlier).is_none() {
                    found.add(
                        "valid holds are disjoint",
                        format!("{name}: {earlier} until {until:?}, {token} from {first:?}"),
                    );
                }
            }
            longest.insert(token, (sharing, last));
        }
    }
}

/// No hold is valid after its end, or for long after the database lost it.
pub(crate) fn ends_with_the_hold(history: &History, past: &Past, found: &mut Violations) {
    let ends = past.ends();
    for hold in &history.valid_holds {
        let end = ends.get(&hold.token);
        if end.is_some_and(|end| end.is_before(hold.at.saturating_sub(PRECISION))) {
            found.add("no hold is valid after its end", format!("{hold:?}: {end:?}"));
        }
        if let Some(loss) = past.loss_of(hold.token)
            && loss.at + LOSS_NOTICED < hold.at
        {
            found.add("a client notices that its hold was lost", format!("{hold:?}: {loss:?}"));
        }
    }
}

/// No session expires before the TTL has passed since its last acknowledged renewal was sent.
pub(crate) fn sessions_outlive_renewals(history: &History, past: &Past, found: &mut Violations) {
    let mut ends: BTreeMap<&str, Vec<Moment>> = BTreeMap::new();
    let mut opened: BTreeMap<&str, u32> = BTreeMap::new();
    for (moment, recorded) in past.committed().filter(|(_, recorded)| past.loss_of(recorded.revision.0).is_none()) {
        match &recorded.event {
            Event::SessionOpened(spec) => *opened.entry(&spec.id).or_default() += 1,
            Event::SessionEnded { session, reason: EndReason::Expired | EndReason::Disconnected, .. } => {
                ends.entry(session).or_default().push(moment);
            }
            _ => {}
        }
    }
    for Renewal { session, start, ttl } in &history.renewals {
        let opened_once = opened.get(&**session) == Some(&1);
        let until = (*start + ttl.mul_f64(RATE)).saturating_sub(PRECISION);
        // If a session was opened more than once, an earlier incarnation may have ended before.
        let is_early = |end: &&Moment| end.is_before(until) && (opened_once || end.is_after(*start));
        if let Some(end) = ends.get(&**session).and_then(|ends| ends.iter().find(is_early)) {
            found.add(
                "no session ends before its renewals allow",
                format!("{session} renewed at {start:?} for {ttl:?}, ended: {end:?}"),
            );
        }
    }
}

/// No session expires while its client may consider it valid.
pub(crate) fn sessions_outlive_their_validity(history: &History, past: &Past, found: &mut Violations) {
    for (moment, recorded) in past.committed() {
        if let Event::SessionEnded { session, reason: EndReason::Expired | EndReason::Disconnected, .. } =
            &recorded.event
            && let Some(until) = history.valid_sessions.get(&**session)
            && moment.is_before(until.saturating_sub(PRECISION))
            && past.loss_of(recorded.revision.0).is_none()
        {
            found.add("no session expires while it is valid", format!("{session} until {until:?}, ended: {moment:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, SECOND, commit};

    fn is_broken(ended: Duration, reason: EndReason) -> bool {
        let commits = vec![commit(ended, 2, testing::session_ended("ann", reason))];
        let log = commits.iter().map(|commit| commit.batch.clone()).collect();
        let valid_sessions = [("ann".to_owned(), 3 * SECOND)].into();
        let history = History { valid_sessions, ..History::default() };
        let mut found = Violations::default();
        sessions_outlive_their_validity(&history, &Past { commits, log, losses: Vec::new() }, &mut found);
        !found.0.is_empty()
    }

    #[test]
    fn session_expires_when_it_is_no_longer_valid() {
        assert!(!is_broken(3 * SECOND, EndReason::Expired));
        assert!(is_broken(2 * SECOND, EndReason::Expired) && is_broken(2 * SECOND, EndReason::Disconnected));
        assert!(!is_broken(2 * SECOND, EndReason::Closed), "its client has closed it");
    }
}
