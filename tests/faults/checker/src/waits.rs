//! Checks that claims are in the queue while their calls wait, and only then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::{ClaimSpec, EndReason, Event};

use crate::history::{Call, CallKind, History, Outcome};
use crate::past::{Moment, Past};
use crate::{PRECISION, Violations};

/// Factor on wait times that allows for rate differences between host clocks.
const RATE: f64 = 0.999;

/// A client that stops waiting withdraws its claim, and returns without a confirmation after a while. Not before this
/// time, however.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(1);

/// Time within which a claim is withdrawn whose call has failed, if the client has a server.
const CANCELLED_WITHIN: Duration = Duration::from_secs(3);

/// A claim of a session that records its waits.
struct Claim<'a> {
    id: u64,
    spec: &'a ClaimSpec,
    began: Moment,
    /// When it was granted, if it had to wait.
    granted: Option<Moment>,
    ended: Option<(Moment, EndReason)>,
}

/// An acquire of a session that records its waits.
struct Acquire<'a> {
    call: &'a Call,
    /// When its wait is over.
    until: Duration,
}

impl Acquire<'_> {
    fn is_for(&self, claim: &Claim) -> bool {
        let asked: BTreeSet<&str> = self.call.names.iter().map(String::as_str).collect();
        asked == claim.spec.names.iter().map(|name| &**name).collect()
    }

    /// Whether the claim may have begun for this call.
    fn may_have_made(&self, claim: &Claim) -> bool {
        !claim.began.is_before(self.call.start) && !claim.began.is_after(self.call.end + PRECISION)
    }

    /// Whether the call cannot have been granted locks after its reply: its claim had ended, or was granted.
    fn is_settled(&self) -> bool {
        match self.call.outcome {
            Outcome::Acquired(_) => true,
            Outcome::Busy => self.call.end < self.until + CONFIRMED_WITHIN,
            Outcome::Done | Outcome::Unknown(_) => false,
        }
    }

    fn may_be_granted(&self, claim: &Claim, moment: Moment) -> bool {
        let is_over = self.is_settled() && moment.is_after(self.call.end + PRECISION);
        self.is_for(claim) && !moment.is_before(self.call.start) && !is_over
    }
}

/// A claim stays in the queue until its wait is over, has left it when the reply is received, and is granted only in
/// between.
pub(crate) fn last_as_long_as_their_calls(history: &History, past: &Past, found: &mut Violations) {
    let until: BTreeMap<(&str, Duration), Duration> =
        history.waits.iter().map(|wait| ((&*wait.session, wait.start), wait.until)).collect();
    let mut sessions: BTreeMap<&str, (Vec<Acquire>, Vec<Claim>)> = BTreeMap::new();
    let mut last_reply: BTreeMap<&str, Duration> = BTreeMap::new();
    for call in &history.calls {
        let last = last_reply.entry(&call.session).or_default();
        *last = call.end.max(*last);
        if let (CallKind::Acquire(_), Some(until)) = (call.kind, until.get(&(&*call.session, call.start))) {
            sessions.entry(&call.session).or_default().0.push(Acquire { call, until: *until });
        }
    }
    add_claims(past, &mut sessions);
    for (session, (acquires, claims)) in &sessions {
        let last_reply = last_reply.get(session).copied().unwrap_or_default();
        for claim in claims {
            if let Some(granted) = claim.granted {
                // The last call may have had no reply.
                let is_wanted = !granted.is_before(last_reply.saturating_sub(PRECISION))
                    || acquires.iter().any(|acquire| acquire.may_be_granted(claim, granted));
                if !is_wanted {
                    found.add("locks are granted to callers who wait", seen(session, claim, &granted));
                }
            }
        }
        for (index, acquire) in acquires.iter().enumerate() {
            check_wait(acquire, &acquires[index + 1..], claims, found);
        }
    }
}

fn check_wait(acquire: &Acquire, later: &[Acquire], claims: &[Claim], found: &mut Violations) {
    let call = acquire.call;
    let mut made = claims.iter().filter(|claim| acquire.is_for(claim) && acquire.may_have_made(claim));
    let last = made.next_back();
    let wait = acquire.until.saturating_sub(call.start);
    let until = (call.start + wait.mul_f64(RATE)).saturating_sub(PRECISION);
    let withdrawn = last.and_then(|last| last.ended).filter(|(_, reason)| *reason == EndReason::Released);
    if call.outcome == Outcome::Busy && withdrawn.is_some_and(|(at, _)| at.is_before(until)) {
        found.add("a claim waits until its wait is over", format!("{call:?}, until {until:?}: {withdrawn:?}"));
    }
    // A reply to a later call shows that the session lives, and that what was withdrawn before has ended.
    let succeeds = |later: &&Acquire| matches!(later.call.outcome, Outcome::Acquired(_) | Outcome::Busy);
    let mut later = later.iter().filter(succeeds);
    let gone = match call.outcome {
        Outcome::Busy if acquire.is_settled() => later.next().map(|_| call.end),
        Outcome::Unknown(_) => {
            later.find(|later| later.call.start > call.end + CANCELLED_WITHIN).map(|later| later.call.end)
        }
        _ => None,
    };
    let remains = |gone: &Duration| {
        last.is_some_and(|last| last.ended.is_none_or(|(ended, _)| ended.is_after(*gone + PRECISION)))
    };
    if let (Some(gone), Some(last)) = (gone.filter(remains), last) {
        found.add("a claim leaves the queue with its call", seen(&call.session, last, &(call, gone)));
    }
}

fn seen(session: &str, claim: &Claim, what: &impl std::fmt::Debug) -> String {
    let Claim { id, spec, began, ended, .. } = claim;
    format!("{session}: claim {id} for {:?} from {began:?}, ended {ended:?}: {what:?}", spec.names)
}

/// Adds the claims of these sessions, in order. Removes the sessions of which the database has lost something.
fn add_claims<'a>(past: &'a Past, sessions: &mut BTreeMap<&str, (Vec<Acquire>, Vec<Claim<'a>>)>) {
    for (moment, recorded) in past.committed() {
        let (session, claim) = match &recorded.event {
            Event::SessionOpened(spec) => (&spec.id, None),
            Event::ClaimQueued(spec) => (&spec.session, Some((recorded.revision, spec))),
            Event::ClaimGranted { claim, spec }
            | Event::ClaimEnded { claim, spec, .. }
            | Event::ClaimTransferred { claim, spec, .. } => (&spec.session, Some((*claim, spec))),
            _ => continue,
        };
        if past.loss_of(recorded.revision.0).is_some() {
            sessions.remove(&**session);
        }
        if let Event::ClaimTransferred { from, from_spec, .. } = &recorded.event
            && let Some((_, claims)) = sessions.get_mut(&*from_spec.session)
            && let Some(from) = claims.iter_mut().find(|claim| claim.id == from.0)
        {
            from.ended = Some((moment, EndReason::Transferred));
        }
        let (Some((_, claims)), Some((id, spec))) = (sessions.get_mut(&**session), claim) else { continue };
        let index = claims.iter().position(|claim| claim.id == id.0).unwrap_or_else(|| {
            claims.push(Claim { id: id.0, spec, began: moment, granted: None, ended: None });
            claims.len() - 1
        });
        match &recorded.event {
            Event::ClaimGranted { .. } => claims[index].granted = Some(moment),
            Event::ClaimEnded { reason, .. } => claims[index].ended = Some((moment, *reason)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Revision;

    use super::*;
    use crate::history::Wait;
    use crate::testing::{self, SECOND, commit};

    const MOMENT: Duration = Duration::from_millis(100);

    /// A claim waits from second 1 on for a call that waits until second 3, and ends at this time for this reason. After
    /// the reply, and a moment later, another call succeeds.
    fn is_broken(outcome: Outcome, replied: Duration, ended: Duration, reason: EndReason) -> bool {
        let later = testing::acquire(8 * SECOND, 9 * SECOND, Outcome::Busy);
        let calls = vec![testing::acquire(SECOND, replied, outcome), later];
        let wait = |call: &Call, until| Wait { session: call.session.clone(), start: call.start, until };
        let waits = vec![wait(&calls[0], 3 * SECOND), wait(&calls[1], 8 * SECOND)];
        let queued = commit(SECOND + MOMENT, 2, Event::ClaimQueued(testing::claim()));
        let commits = vec![queued, commit(ended, 3, testing::claim_ended(2, reason))];
        let log = commits.iter().map(|commit| commit.batch.clone()).collect();
        let mut found = Violations::default();
        let history = History { calls, waits, ..History::default() };
        last_as_long_as_their_calls(&history, &Past { commits, log, losses: Vec::new() }, &mut found);
        !found.0.is_empty()
    }

    #[test]
    fn claim_of_a_busy_call_ends_between_the_end_of_the_wait_and_the_reply() {
        let (busy, replied) = (|| Outcome::Busy, 3 * SECOND + 2 * MOMENT);
        assert!(!is_broken(busy(), replied, 3 * SECOND + MOMENT, EndReason::Released));
        assert!(is_broken(busy(), replied, 3 * SECOND - MOMENT, EndReason::Released));
        assert!(is_broken(busy(), replied, 4 * SECOND, EndReason::Released));
        assert!(!is_broken(busy(), replied, 3 * SECOND - MOMENT, EndReason::Expired), "its session has ended");
        assert!(!is_broken(busy(), 5 * SECOND, 6 * SECOND, EndReason::Released), "the withdrawal was not confirmed");
    }

    #[test]
    fn claim_of_a_failed_call_has_ended_when_a_later_call_succeeds() {
        let failed = || Outcome::Unknown(String::new());
        assert!(!is_broken(failed(), 3 * SECOND, 8 * SECOND, EndReason::Released));
        assert!(is_broken(failed(), 3 * SECOND, 10 * SECOND, EndReason::Released));
        assert!(!is_broken(failed(), 6 * SECOND, 10 * SECOND, EndReason::Released), "it may be late");
    }

    #[test]
    fn lock_is_granted_while_its_call_waits() {
        let is_broken = |granted| {
            let claim = testing::claim();
            let event = Event::ClaimGranted { claim: Revision(2), spec: claim.clone() };
            let commits = vec![commit(SECOND, 2, Event::ClaimQueued(claim)), commit(granted, 3, event)];
            let calls = vec![
                testing::acquire(SECOND, 3 * SECOND, Outcome::Acquired(3)),
                testing::acquire(5 * SECOND, 6 * SECOND, Outcome::Acquired(9)),
            ];
            let wait = |call: &Call| Wait { session: call.session.clone(), start: call.start, until: call.end };
            let waits = calls.iter().map(wait).collect();
            let log = commits.iter().map(|commit| commit.batch.clone()).collect();
            let mut found = Violations::default();
            let history = History { calls, waits, ..History::default() };
            last_as_long_as_their_calls(&history, &Past { commits, log, losses: Vec::new() }, &mut found);
            !found.0.is_empty()
        };
        assert!(!is_broken(2 * SECOND) && is_broken(4 * SECOND));
        assert!(!is_broken(7 * SECOND), "a call without a reply is not recorded");
    }
}
