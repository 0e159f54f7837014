//! Encodes the messages of watches, each with its gRPC prefix.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tenure_core::{Group, Revision};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;

use super::{events, groups};
use crate::grpc::{convert, framing};
use crate::limits;
use crate::store::Batch;
use crate::watch::{self, Encoded, Filter, Groups};

/// Groups in their current state, still to be sent.
pub(super) type PendingGroups = VecDeque<(String, Option<Arc<Group>>)>;

/// Encodes a message.
pub(super) fn message(revision: Revision, kind: Kind) -> Bytes {
    let mut wire = BytesMut::new();
    put(&mut wire, revision, kind);
    wire.freeze()
}

/// Appends a message.
pub(super) fn put(wire: &mut BytesMut, revision: Revision, kind: Kind) {
    framing::put(wire, &v1::WatchResponse { revision: revision.0, kind: Some(kind) });
}

/// The events of a batch after a revision, up to the size of a message, and the revision that they reach.
pub(super) fn events_after(after: Revision, batch: &Batch, filter: &Filter) -> (v1::Events, Revision) {
    let (mut message, mut bytes) = (v1::Events::default(), 0);
    for recorded in batch.events.iter().filter(|recorded| recorded.revision > after) {
        let locks = events::events(recorded, batch, filter);
        let group = groups::event(recorded, batch, filter);
        bytes += (locks.len() + usize::from(group.is_some())) * recorded.event.bytes();
        message.events.extend(locks);
        message.group_events.extend(group);
        if bytes >= limits::WATCH_MESSAGE {
            return (message, recorded.revision);
        }
    }
    (message, batch.revision())
}

/// Takes as many groups as fit into a message that already has `bytes` bytes; at least one if `bytes` is 0.
pub(super) fn take_groups(pending: &mut PendingGroups, mut bytes: usize) -> Vec<v1::Group> {
    let mut taken = Vec::new();
    while let Some((name, group)) = pending.front() {
        let group = convert::group(name, group.as_deref());
        let larger = bytes + group.encoded_len();
        if bytes > 0 && larger > limits::WATCH_MESSAGE {
            break;
        }
        bytes = larger;
        taken.push(group);
        pending.pop_front();
    }
    taken
}

/// Encodes messages once for all watches with the same filter.
pub(super) struct Encoder;

impl watch::Encoder for Encoder {
    fn events(&self, filter: &Filter, batch: &Batch, groups: &Groups) -> Encoded {
        let watched = groups.iter().filter(|(name, _)| filter.groups.contains(*name));
        let mut pending: PendingGroups = watched.map(|(name, group)| (name.clone(), group.clone())).collect();
        let (mut wire, mut after) = (BytesMut::new(), batch.previous);
        while after < batch.revision() || !pending.is_empty() {
            let (mut message, reached) = events_after(after, batch, filter);
            if reached == batch.revision() {
                message.groups = take_groups(&mut pending, message.encoded_len());
            }
            if message != v1::Events::default() {
                put(&mut wire, reached, Kind::Events(message));
            }
            if wire.len() > limits::WATCH_SHARED {
                return Encoded::TooLarge;
            }
            after = reached;
        }
        if wire.is_empty() { Encoded::Nothing } else { Encoded::Messages(wire.freeze()) }
    }

    fn progress(&self, revision: Revision) -> Bytes {
        message(revision, Kind::Progress(v1::Progress {}))
    }
}
