//! Histories for the tests of rules.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    ClaimSpec, EndReason, Event, Millis, Mode, Recorded, Revision, ServerId, SessionSpec, Text, no_labels,
};
use tenure_server::store::Batch;

use crate::history::{Call, CallKind, Outcome, Sharing};
use crate::past::{Commit, Moment};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// An exclusive acquire of lock "a" by session "ann".
pub(crate) fn acquire(start: Duration, end: Duration, outcome: Outcome) -> Call {
    let (session, names, kind) = ("ann".to_owned(), vec!["a".to_owned()], CallKind::Acquire(Sharing::Exclusive));
    Call { session, names, kind, start, end, outcome }
}

/// The claim of such an acquire.
pub(crate) fn claim() -> Arc<ClaimSpec> {
    let (priority, metadata, min_hold) = (0, no_labels(), Millis::default());
    let (session, owner, names) = (Text::from("ann"), Text::from(""), Text::from("a").into());
    let (opened, mode, waiting_server, declared) = (Revision(1), Mode::Exclusive, None, 0);
    Arc::new(ClaimSpec { session, opened, owner, names, mode, priority, metadata, min_hold, waiting_server, declared })
}

/// The end of a claim that waits.
pub(crate) fn claim_ended(claim: u64, reason: EndReason) -> Event {
    let (claim, token, eviction, still_held, longest_pause) = (Revision(claim), None, None, Vec::new(), None);
    Event::ClaimEnded { claim, token, spec: self::claim(), reason, eviction, still_held, longest_pause }
}

/// The opening of a session that a client has declared.
pub(crate) fn session_opened(session: &str) -> Event {
    Event::SessionOpened(Arc::new(SessionSpec {
        id: Text::from(session),
        ttl: SECOND,
        disconnect_grace: None,
        owner: Text::from(""),
        metadata: no_labels(),
        home: ServerId(1),
        identity: None,
        client: Some(Text::from("client")),
        declared: 1,
    }))
}

/// The end of a session.
pub(crate) fn session_ended(session: &str, reason: EndReason) -> Event {
    Event::SessionEnded { session: Text::from(session), opened: Revision(1), reason }
}

/// A commit of one event.
pub(crate) fn commit(at: Duration, revision: u64, event: Event) -> Commit {
    let events = vec![Recorded { revision: Revision(revision), event }];
    let (namespace, previous, server) = ("n".into(), Revision(revision - 1), ServerId(1));
    let batch = Arc::new(Batch { namespace, previous, events, server, number: 1, at_ms: 0 });
    Commit { moment: Moment::At(at), batch }
}
