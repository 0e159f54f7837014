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

/// The sessions that clients have declared, except for those of which the database has lost something.
fn sessions(past: &Past) -> BTreeMap<&str, Session<'_>> {
    let (mut sessions, mut incomplete) = (BTreeMap::new(), BTreeSet::new());
    for (moment, recorded) in past.committed() {
        let id = match &recorded.event {
            Event::SessionOpened(spec) => {
                if let Some(client) = spec.declared_by() {
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
