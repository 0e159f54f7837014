//! Checks that servers end what their clients no longer have.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::{Event, Text};

use crate::history::{CallKind, History, Outcome};
use crate::past::{Moment, Past};
use crate::{PRECISION, Violations};

/// Time within which a server that has received a withdrawal decides it, if it also decides what was sent later.
const DECIDED_WITHIN: Duration = Duration::from_secs(3);

/// A session of a client.
struct Session<'a> {
    client: &'a Text,
    ended: Option<Moment>,
}

/// A session that its client has lost has ended when the client is served again: a client states what it has when it
/// connects, and its changes are made in order.
pub(crate) fn lost_sessions_end(history: &History, past: &Past, found: &mut Violations) {
    let sessions = sessions(past);
    let mut served: BTreeMap<&Text, Vec<(Duration, Duration)>> = BTreeMap::new();
    for call in &history.calls {
        if let (CallKind::Acquire(_), Outcome::Acquired(_) | Outcome::Busy) = (call.kind, &call.outcome)
            && let Some(session) = sessions.get(&*call.session)
        {
            served.entry(session.client).or_default().push((call.start, call.end));
        }
    }
    for lost in &history.lost_sessions {
        let Some(Session { client, ended }) = sessions.get(&*lost.session) else { continue };
        let calls = served.get(client).into_iter().flatten();
        let later = calls.filter(|(start, _)| *start > lost.at + DECIDED_WITHIN).map(|(_, end)| *end).min();
        if let Some(end) = later.filter(|end| ended.is_none_or(|ended| ended.is_after(*end + PRECISION))) {
            found.add("a session ends that its client has lost", format!("{lost:?}: served at {end:?}, {ended:?}"));
        }
    }
}

/// Nothing is granted in a session that its client has left in time, unless the database has lost the end of its wait.
pub(crate) fn left_sessions_are_granted_nothing(history: &History, past: &Past, found: &mut Violations) {
    let left: BTreeSet<&str> = history.left_sessions.iter().map(|left| &*left.session).collect();
    for (moment, recorded) in past.committed().filter(|_| past.losses.is_empty()) {
        if let Event::ClaimGranted { claim, spec } = &recorded.event
            && left.contains(&*spec.session)
        {
            found.add(
                "nothing is granted to a client that has left",
                format!("{claim} of {}: {moment:?}", spec.session),
            );
        }
    }
}

/// The sessions that clients have declared, except for those of which the database has lost something.
fn sessions(past: &Past) -> BTreeMap<&str, Session<'_>> {
    let (mut sessions, mut incomplete) = (BTreeMap::new(), BTreeSet::new());
    for (moment, recorded) in past.committed() {
        let id = match &recorded.event {
            Event::SessionOpened(spec) => {
                if let Some(client) = &spec.client {
                    sessions.insert(&*spec.id, Session { client, ended: None });
                }
                &*spec.id
            }
            Event::SessionEnded { session, .. } => {
                if let Some(found) = sessions.get_mut(&**session) {
                    found.ended = Some(moment);
                }
                &**session
            }
            _ => continue,
        };
        if past.loss_of(recorded.revision.0).is_some() {
            incomplete.insert(id);
        }
    }
    sessions.retain(|session, _| !incomplete.contains(session));
    sessions
}

#[cfg(test)]
mod tests {
    use tenure_core::EndReason;

    use super::*;
    use crate::history::LostSession;
    use crate::testing::{self, SECOND, commit};

    /// A client loses session "bob" at second 2, and this call in another session succeeds at second 7.
    fn is_broken(called: Duration, ended: Duration) -> bool {
        let opened =
            [(1, "bob"), (2, "ann")].map(|(revision, id)| commit(SECOND, revision, testing::session_opened(id)));
        let end = commit(ended, 3, testing::session_ended("bob", EndReason::Closed));
        let commits: Vec<_> = opened.into_iter().chain([end]).collect();
        let log = commits.iter().map(|commit| commit.batch.clone()).collect();
        let lost_sessions = vec![LostSession { session: "bob".to_owned(), at: 2 * SECOND }];
        let calls = vec![testing::acquire(called, 7 * SECOND, Outcome::Busy)];
        let mut found = Violations::default();
        let history = History { calls, lost_sessions, ..History::default() };
        lost_sessions_end(&history, &Past { commits, log, losses: Vec::new() }, &mut found);
        !found.0.is_empty()
    }

    #[test]
    fn lost_session_has_ended_when_a_later_call_succeeds() {
        assert!(!is_broken(6 * SECOND, 7 * SECOND) && is_broken(6 * SECOND, 8 * SECOND));
        assert!(!is_broken(4 * SECOND, 8 * SECOND), "the withdrawal may be late");
    }
}
