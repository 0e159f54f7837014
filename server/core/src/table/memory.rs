//! The table's memory of the recent past, so that a late or repeated request gets a reply that explains it.

use std::collections::VecDeque;

use crate::end::EndReason;
use crate::map::Map;
use crate::model::{Claim, Revision};
use crate::names::{Names, Text};
use crate::recent::Recent;

/// The number of ended sessions that are remembered.
const SESSIONS: usize = 10_000;

/// The number of ended holds, and of groups left, that are remembered of each session, regardless of other sessions ...
const HOLDS: usize = 16;

/// ... and the number of revisions whose grants, as older holds of all sessions together, are certainly remembered:
/// more than clients have in flight when they retry. A power of two.
const OLDER_HOLDS: usize = 65_536;

/// The number of cancels that are remembered of each session: more than there are calls in flight that they are to
/// reject.
const CANCELS: usize = 16;

/// The number of declared sessions, claims and memberships that are remembered to have ended.
const ITEMS: usize = 16_384;

/// The number of handoffs that are remembered.
const HANDOFFS: usize = 1_000;

/// The recent past of a namespace. It is not part of the table's state: it only decides the wording of rejections,
/// whether a release, handoff or leave is a repeated one, and whether an Acquire is older than its cancel.
#[derive(Debug, Default)]
pub(super) struct Memory {
    sessions: Map<Text, Past>,
    /// The ends of sessions that are remembered, in order.
    ended: VecDeque<(Text, Revision)>,
    older_holds: OlderHolds,
    /// The clients that have ended, and when.
    clients: Recent<Text, Revision, SESSIONS>,
    /// Why clients have lost what they have declared, by its numbers.
    items: Recent<(Text, u64), EndReason, ITEMS>,
    /// Cancels and ends of clients up to this revision are not known.
    cancels_since: Revision,
    /// The last event that was recalled.
    recalled: Revision,
    /// The handoffs, by the tokens of the holds that ended.
    handoffs: Recent<Revision, (Claim, Claim), HANDOFFS>,
}

#[derive(Debug, Default)]
struct Past {
    /// Why and when it ended. It may have been opened and have ended before.
    end: Option<(EndReason, Revision)>,
    holds: VecDeque<(Revision, EndReason)>,
    /// When its client closed it last.
    closed: Option<Revision>,
    /// The names that it cancelled by plain calls, and when.
    cancelled: VecDeque<(Names, Revision)>,
    /// It may have cancelled more names up to this revision.
    cancelled_before: Revision,
    /// The groups that it left, and its numbers there.
    left: VecDeque<(Text, Revision)>,
}

/// Ended holds, each in the slot that its token gives, where it stays until a hold ends whose token gives the same
/// slot. Tokens are consecutive, so entries remembered together are stored together.
#[derive(Debug, Default)]
struct OlderHolds(Vec<Option<(Revision, Text, EndReason)>>);

impl OlderHolds {
    fn remember(&mut self, token: Revision, session: &Text, reason: EndReason) {
        let mut slot = self.slot(token);
        while self.0.len() < OLDER_HOLDS
            && self.0.get(slot).is_none_or(|taken| taken.as_ref().is_some_and(|(other, ..)| *other != token))
        {
            self.widen();
            slot = self.slot(token);
        }
        self.0[slot] = Some((token, session.clone(), reason));
    }

    fn get(&self, token: Revision) -> Option<(&Text, EndReason)> {
        let (known, session, reason) = self.0.get(self.slot(token))?.as_ref()?;
        (*known == token).then_some((session, *reason))
    }

    /// The slot of a token. The number of slots is a power of two.
    fn slot(&self, token: Revision) -> usize {
        usize::try_from(token.0 % self.0.len().max(1) as u64).unwrap_or_default()
    }

    fn widen(&mut self) {
        let wider = vec![None; (self.0.len() * 2).max(16)];
        for (token, session, reason) in std::mem::replace(&mut self.0, wider).into_iter().flatten() {
            let slot = self.slot(token);
            self.0[slot] = Some((token, session, reason));
        }
    }
}

impl Memory {
    pub(super) fn session_opened(&mut self, id: &Text) {
        if let Some(past) = self.sessions.get_mut(id) {
            past.end = None;
        }
    }

    pub(super) fn session_ended(&mut self, id: &Text, reason: EndReason, at: Revision) {
        let past = self.past(id);
        past.end = Some((reason, at));
        past.closed = if reason == EndReason::Closed { Some(at) } else { past.closed };
        self.ended.push_back((id.clone(), at));
        if self.ended.len() > SESSIONS
            && let Some((oldest, at)) = self.ended.pop_front()
            && self.sessions.get(&oldest).is_some_and(|past| past.end.is_some_and(|(_, end)| end == at))
        {
            self.sessions.swap_remove(&oldest);
        }
    }

    pub(super) fn claim_ended(&mut self, session: &Text, token: Revision, reason: EndReason) {
        let holds = &mut self.past(session).holds;
        let older = if holds.len() < HOLDS { None } else { holds.pop_front() };
        // The token may be present already, if its end was decided and undone because another end was committed first:
        // the later entry counts.
        holds.push_back((token, reason));
        if let Some((token, reason)) = older {
            self.older_holds.remember(token, session, reason);
        }
    }

    /// Nothing up to this revision is remembered.
    pub(super) fn begin_after(&mut self, revision: Revision) {
        self.cancels_since = revision;
    }

    /// Records that an event is remembered, which normally follows those recalled before.
    pub(super) fn recalled(&mut self, revision: Revision) {
        if revision != self.recalled.next() {
            self.cancels_since = Revision(revision.0.saturating_sub(1));
        }
        self.recalled = revision;
    }

    pub(super) fn cancelled(&mut self, session: &Text, names: &Names, at: Revision) {
        let past = self.past(session);
        past.cancelled.retain(|(cancelled, _)| cancelled != names);
        if past.cancelled.len() == CANCELS
            && let Some((_, oldest)) = past.cancelled.pop_front()
        {
            past.cancelled_before = past.cancelled_before.max(oldest);
        }
        past.cancelled.push_back((names.clone(), at));
    }

    /// Whether the session may have cancelled its claim to these names after this revision.
    pub(super) fn cancelled_after(&self, session: &str, names: &Names, revision: Revision) -> bool {
        let may_have = |past: &Past| {
            past.cancelled_before > revision || past.cancelled.iter().any(|(of, at)| of == names && *at > revision)
        };
        self.cancels_since > revision || self.sessions.get(session).is_some_and(may_have)
    }

    pub(super) fn client_ended(&mut self, client: &Text, at: Revision) {
        self.clients.insert(client, at);
    }

    pub(super) fn item_ended(&mut self, client: &Text, number: u64, reason: EndReason) {
        self.items.insert(&(client.clone(), number), reason);
    }

    /// Why the client has lost what has this number, if that is remembered.
    pub(super) fn end_of_item(&self, client: &Text, number: u64) -> Option<EndReason> {
        self.items.get(&(client.clone(), number)).copied()
    }

    /// Whether the client may have ended after this revision.
    pub(super) fn client_ended_after(&self, client: &Text, revision: Revision) -> bool {
        self.cancels_since > revision || self.clients.get(client).is_some_and(|ended| *ended > revision)
    }

    /// Whether the client closed the session after this revision.
    pub(super) fn closed_after(&self, session: &str, revision: Revision) -> bool {
        self.sessions.get(session).and_then(|past| past.closed).is_some_and(|closed| closed > revision)
    }

    fn past(&mut self, session: &Text) -> &mut Past {
        match self.sessions.get_index_of(session) {
            Some(slot) => &mut self.sessions[slot],
            None => self.sessions.entry(session.clone()).or_default(),
        }
    }

    /// Records a handoff: the hold that ended, and the hold that began.
    pub(super) fn handed_over(&mut self, token: Revision, from: Claim, to: Claim) {
        self.claim_ended(&from.spec.session.clone(), token, EndReason::Transferred);
        self.handoffs.insert(&token, (from, to));
    }

    pub(super) fn left(&mut self, session: &Text, group: &Text, number: Revision) {
        let left = &mut self.past(session).left;
        if left.len() == HOLDS {
            left.pop_front();
        }
        left.push_back((group.clone(), number));
    }

    /// Whether the session is remembered to have left the group, with this number if it is given.
    pub(super) fn has_left(&self, session: &str, group: &str, number: Option<Revision>) -> bool {
        let same = |(left, had): &(Text, Revision)| **left == *group && number.is_none_or(|number| number == *had);
        self.sessions.get(session).is_some_and(|past| past.left.iter().any(same))
    }

    /// The reason for the end of the session of this id, if it ended and that is remembered.
    pub(super) fn end_of_session(&self, id: &str) -> Option<EndReason> {
        self.sessions.get(id)?.end.map(|(reason, _)| reason)
    }

    /// The reason for the end of the session's hold with this token, if it ended and that is remembered.
    pub(super) fn end_of_hold(&self, session: &str, token: Revision) -> Option<EndReason> {
        let holds = self.sessions.get(session).map(|past| &past.holds);
        let recent = holds.into_iter().flatten().rev().find(|(known, _)| *known == token).map(|(_, reason)| *reason);
        let older = || self.older_holds.get(token).filter(|(other, _)| ***other == *session);
        recent.or_else(|| older().map(|(_, reason)| reason))
    }

    /// The handoff of the hold with this token, if it is remembered: the hold that ended, and the hold that began.
    pub(super) fn handoff(&self, token: Revision) -> Option<&(Claim, Claim)> {
        let handoff = self.handoffs.get(&token)?;
        // A handoff that was undone because the hold had ended otherwise does not count.
        let ended = self.end_of_hold(&handoff.0.spec.session, token);
        ended.is_none_or(|reason| reason == EndReason::Transferred).then_some(handoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_holds_of_each_session_are_remembered_and_more_of_all_together() {
        let mut memory = Memory::default();
        let (quiet, busy) = (Text::from("quiet"), Text::from("busy"));
        memory.claim_ended(&quiet, Revision(1), EndReason::Released);
        let last = (OLDER_HOLDS + HOLDS + 2) as u64;
        for token in 2..=last + 1 {
            memory.claim_ended(&busy, Revision(token), EndReason::Evicted);
        }
        assert_eq!(memory.end_of_hold("quiet", Revision(1)), Some(EndReason::Released));
        assert_eq!(memory.end_of_hold("busy", Revision(last + 1)), Some(EndReason::Evicted));
        assert_eq!(memory.end_of_hold("busy", Revision(4)), Some(EndReason::Evicted));
        assert_eq!(memory.end_of_hold("quiet", Revision(4)), None, "of another session");
        assert_eq!(memory.end_of_hold("busy", Revision(2)), None, "past the bound");
        assert_eq!((memory.sessions["busy"].holds.len(), memory.older_holds.0.len()), (HOLDS, OLDER_HOLDS));
    }

    #[test]
    fn last_sessions_that_ended_are_remembered() {
        let mut memory = Memory::default();
        let id = |number: usize| Text::from(format!("{number}"));
        (0..=SESSIONS).for_each(|number| memory.session_ended(&id(number), EndReason::Closed, Revision(1)));
        assert_eq!(memory.end_of_session("0"), None);
        assert_eq!(memory.end_of_session("1"), Some(EndReason::Closed));
        assert_eq!(memory.end_of_session(&id(SESSIONS)), Some(EndReason::Closed));
    }

    #[test]
    fn holds_of_a_reopened_session_are_not_forgotten() {
        let mut memory = Memory::default();
        let ann = Text::from("ann");
        memory.claim_ended(&ann, Revision(1), EndReason::Released);
        memory.session_ended(&ann, EndReason::Closed, Revision(1));
        memory.session_opened(&ann);
        (0..SESSIONS)
            .for_each(|number| memory.session_ended(&format!("{number}").into(), EndReason::Closed, Revision(1)));
        assert_eq!(memory.end_of_hold("ann", Revision(1)), Some(EndReason::Released));
    }

    #[test]
    fn last_end_of_a_reopened_session_counts() {
        let mut memory = Memory::default();
        let ann = Text::from("ann");
        memory.session_ended(&ann, EndReason::Closed, Revision(1));
        memory.session_opened(&ann);
        memory.session_ended(&ann, EndReason::Expired, Revision(2));
        (2..=SESSIONS)
            .for_each(|number| memory.session_ended(&format!("{number}").into(), EndReason::Closed, Revision(1)));
        assert_eq!(memory.end_of_session("ann"), Some(EndReason::Expired));
        memory.session_ended(&"one more".into(), EndReason::Closed, Revision(1));
        assert_eq!(memory.end_of_session("ann"), None);
    }
}
