//! What a table remembers of the recent past, so that a late or repeated request gets the answer that explains it.

use std::collections::{HashMap, VecDeque};

use crate::event::EndReason;
use crate::model::{Revision, Text};

/// How many ended sessions are remembered.
const SESSIONS: usize = 10_000;

/// How many ended holds, and groups that were left, are remembered of each session: more than a client has in flight when it
/// repeats itself.
const HOLDS: usize = 16;

/// The recent past of a namespace. It is not part of the table's state: it decides nothing but the wording of refusals and
/// whether a repeated release or leave is one.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    sessions: HashMap<Text, Past>,
    ended: VecDeque<(Text, u64)>,
    count: u64,
}

#[derive(Debug, Default)]
struct Past {
    /// Why it ended, and which end this is (an id may be opened and ended again).
    end: Option<(EndReason, u64)>,
    holds: VecDeque<(Revision, EndReason)>,
    /// Groups that it left, and the numbers that it had there.
    left: VecDeque<(Text, Revision)>,
}

impl Memory {
    pub(crate) fn session_opened(&mut self, id: &Text) {
        if let Some(past) = self.sessions.get_mut(id) {
            past.end = None;
        }
    }

    pub(crate) fn session_ended(&mut self, id: &Text, reason: EndReason) {
        self.count += 1;
        self.sessions.entry(id.clone()).or_default().end = Some((reason, self.count));
        self.ended.push_back((id.clone(), self.count));
        if self.ended.len() > SESSIONS
            && let Some((oldest, count)) = self.ended.pop_front()
            && self.sessions.get(&oldest).is_some_and(|past| past.end.is_some_and(|(_, end)| end == count))
        {
            self.sessions.remove(&oldest);
        }
    }

    pub(crate) fn claim_ended(&mut self, session: &Text, token: Revision, reason: EndReason) {
        let holds = &mut self.sessions.entry(session.clone()).or_default().holds;
        holds.retain(|(known, _)| *known != token);
        if holds.len() == HOLDS {
            holds.pop_front();
        }
        holds.push_back((token, reason));
    }

    pub(crate) fn left(&mut self, session: &Text, group: &Text, number: Revision) {
        let left = &mut self.sessions.entry(session.clone()).or_default().left;
        if left.len() == HOLDS {
            left.pop_front();
        }
        left.push_back((group.clone(), number));
    }

    /// Whether the session left the group, with this number if that is given, and that is remembered.
    pub(crate) fn has_left(&self, session: &str, group: &str, number: Option<Revision>) -> bool {
        let same = |(left, had): &(Text, Revision)| **left == *group && number.is_none_or(|number| number == *had);
        self.sessions.get(session).is_some_and(|past| past.left.iter().any(same))
    }

    /// Why the session of this id ended, if it has and that is remembered.
    pub(crate) fn end_of_session(&self, id: &str) -> Option<EndReason> {
        self.sessions.get(id)?.end.map(|(reason, _)| reason)
    }

    /// Why the session's hold with this token ended, if it has and that is remembered.
    pub(crate) fn end_of_hold(&self, session: &str, token: Revision) -> Option<EndReason> {
        let holds = &self.sessions.get(session)?.holds;
        holds.iter().find(|(known, _)| *known == token).map(|(_, reason)| *reason)
    }
}
