//! What watchers are told, as it goes over the wire.

use bytes::{Bytes, BytesMut};
use tenure_core::Revision;
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;

use super::{events, groups};
use crate::hub::{self, Filter, Groups};
use crate::service::{convert, wire};
use crate::store::Batch;

/// A response, with what precedes it on the wire.
pub(super) fn encode(revision: Revision, kind: Kind) -> Bytes {
    let mut wire = BytesMut::new();
    put(&mut wire, revision, kind);
    wire.freeze()
}

fn put(wire: &mut BytesMut, revision: Revision, kind: Kind) {
    let response = v1::WatchResponse { revision: revision.0, kind: Some(kind) };
    wire::put(wire, &response);
}

/// What happened in a batch after a revision, and how groups are. `None` if that is nothing for this filter.
pub(super) fn events_after(after: Revision, filter: &Filter, batch: &Batch, states: Vec<v1::Group>) -> Option<Bytes> {
    let events = events::events(batch, after, filter);
    let group_events = groups::events(batch, after, &filter.groups);
    if events.is_empty() && group_events.is_empty() {
        return None;
    }
    Some(told(batch.revision(), v1::Events { events, group_events, groups: states }))
}

/// Events, in as many messages as their groups take.
pub(super) fn told(revision: Revision, events: v1::Events) -> Bytes {
    let mut parts = groups::parts(events.groups).into_iter();
    let first = parts.next().unwrap_or_default();
    let mut wire = BytesMut::new();
    put(&mut wire, revision, Kind::Events(v1::Events { groups: first, ..events }));
    for groups in parts {
        put(&mut wire, revision, Kind::Events(v1::Events { groups, ..v1::Events::default() }));
    }
    wire.freeze()
}

/// The contract's words for what happens.
pub(super) struct Wording;

impl hub::Wording for Wording {
    fn events(&self, filter: &Filter, batch: &Batch, groups: &Groups) -> Option<Bytes> {
        let watched = groups.iter().filter(|(name, _)| filter.groups.contains(*name));
        let states = watched.map(|(name, group)| convert::group(name, group.as_deref())).collect();
        events_after(batch.previous, filter, batch, states)
    }

    fn progress(&self, revision: Revision) -> Bytes {
        encode(revision, Kind::Progress(v1::Progress {}))
    }
}
