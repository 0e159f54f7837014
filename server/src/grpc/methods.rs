//! Bounds the request messages of each method: their size, and whether a call may send many.

use super::validate::{ASSIGNMENTS_BYTES, CONFIG_BYTES, NAME_BYTES, WATCHED};
use crate::limits;

/// The limits of a method's request messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Method {
    /// Maximum size of a message, in bytes.
    pub(crate) largest: usize,
    /// Whether callers send messages for an unlimited time.
    pub(crate) is_stream: bool,
}

const fn once(largest: usize) -> Method {
    Method { largest, is_stream: false }
}

const fn stream(largest: usize) -> Method {
    Method { largest, is_stream: true }
}

/// Size of the fields that are bounded by some 255 bytes each, with up to 16 names and 4 KiB of metadata in any number
/// of labels.
const FIELDS: usize = 64 * 1024;

/// Overhead of a text in a message, including its key in a map.
const HEAD: usize = 16;

/// Maximum number of members of a group, each of which has an assignment.
const MEMBERS: usize = tenure_core::MEMBERS;

/// All methods: those described to clients, and those that servers call on each other.
const METHODS: &[(&str, Method)] = &[
    ("/tenure.v1.ClientService/Connect", stream(limits::MESSAGE)),
    ("/tenure.v1.SessionService/Renew", once(FIELDS)),
    ("/tenure.v1.SessionService/OpenSession", once(FIELDS)),
    ("/tenure.v1.SessionService/CloseSession", once(FIELDS)),
    ("/tenure.v1.SessionService/GetSession", once(FIELDS)),
    ("/tenure.v1.SessionService/ListSessions", once(FIELDS)),
    ("/tenure.v1.LockService/Acquire", once(FIELDS)),
    ("/tenure.v1.LockService/Release", once(FIELDS)),
    ("/tenure.v1.LockService/CancelAcquire", once(FIELDS)),
    ("/tenure.v1.LockService/GetLock", once(FIELDS)),
    ("/tenure.v1.LockService/ListLocks", once(FIELDS)),
    ("/tenure.v1.LockService/Evict", once(FIELDS)),
    ("/tenure.v1.LockService/Transfer", once(FIELDS)),
    ("/tenure.v1.LockService/UpdateClaim", once(FIELDS)),
    ("/tenure.v1.LockService/ConfigureLock", once(FIELDS)),
    ("/tenure.v1.LockService/ListBlocked", once(FIELDS)),
    ("/tenure.v1.LockService/ListHistory", once(FIELDS)),
    ("/tenure.v1.GroupService/JoinGroup", once(FIELDS)),
    ("/tenure.v1.GroupService/LeaveGroup", once(FIELDS)),
    ("/tenure.v1.GroupService/ConfigureGroup", once(FIELDS + CONFIG_BYTES)),
    ("/tenure.v1.GroupService/AssignGroup", once(FIELDS + ASSIGNMENTS_BYTES + MEMBERS * HEAD)),
    ("/tenure.v1.GroupService/GetGroup", once(FIELDS)),
    ("/tenure.v1.GroupService/ListGroups", once(FIELDS)),
    ("/tenure.v1.ServerService/ListServers", once(FIELDS)),
    ("/tenure.v1.WatchService/Watch", once(FIELDS + 3 * WATCHED * (NAME_BYTES + HEAD))),
    ("/tenure.internal.v1.PeerService/Forward", stream(limits::MESSAGE)),
    ("/grpc.health.v1.Health/Check", once(FIELDS)),
    ("/grpc.health.v1.Health/Watch", once(FIELDS)),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", stream(FIELDS)),
    ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", stream(FIELDS)),
];

/// The method with this path. An unknown one gets the usual limit.
pub(crate) fn method(path: &str) -> Method {
    known(path).map_or(once(FIELDS), |(_, method)| method)
}

/// The method with this path, if there is one.
pub(super) fn known(path: &str) -> Option<(&'static str, Method)> {
    METHODS.iter().find(|(known, _)| *known == path).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prost::Message;
    use prost_types::FileDescriptorSet;
    use tenure_proto::v1;

    use super::super::validate::SESSION_ID_BYTES;
    use super::super::validate::{ASSIGNMENT_BYTES, METADATA_BYTES, NAMES};
    use super::*;

    /// A new method needs a deliberate bound, and a new stream of requests must not be cut off.
    #[test]
    fn every_method_has_a_bound_and_is_a_stream_if_its_requests_are() {
        let sets = [
            tenure_proto::FILE_DESCRIPTOR_SET,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        // The protocol between servers is not described to clients.
        let mut described = BTreeMap::from([("/tenure.internal.v1.PeerService/Forward".to_owned(), true)]);
        for file in sets.iter().flat_map(|set| FileDescriptorSet::decode(*set).expect("readable").file) {
            for service in &file.service {
                let path = |method: &str| format!("/{}.{}/{method}", file.package(), service.name());
                described.extend(service.method.iter().map(|method| (path(method.name()), method.client_streaming())));
            }
        }
        let known = METHODS.iter().map(|(path, method)| ((*path).to_owned(), method.is_stream));
        assert_eq!(known.collect::<BTreeMap<_, _>>(), described);
    }

    fn text(len: usize) -> String {
        "x".repeat(len)
    }

    /// As many labels as fit, each as small as possible, which takes the most bytes.
    fn metadata() -> BTreeMap<String, String> {
        (0..METADATA_BYTES / 3).map(|at| (format!("{at:03x}"), String::new())).collect()
    }

    #[test]
    fn largest_valid_request_is_within_the_bound_of_its_method() {
        let (names, id) = (vec![text(NAME_BYTES); NAMES], text(SESSION_ID_BYTES));
        let acquire = v1::AcquireRequest {
            names,
            session_id: id.clone(),
            owner: text(255),
            metadata: metadata(),
            ..v1::AcquireRequest::default()
        };
        let watched = vec![text(NAME_BYTES); WATCHED];
        let (names, prefixes, groups) = (watched.clone(), watched.clone(), watched);
        let watch = v1::WatchRequest { names, prefixes, groups, ..v1::WatchRequest::default() };
        let configure = v1::ConfigureGroupRequest {
            group: text(NAME_BYTES),
            config: Some(text(CONFIG_BYTES)),
            ..v1::ConfigureGroupRequest::default()
        };
        let assigned = text(ASSIGNMENTS_BYTES / MEMBERS);
        assert!(assigned.len() <= ASSIGNMENT_BYTES);
        let assignments = (0..MEMBERS as u64).map(|at| (u64::MAX / 2 - at, assigned.clone())).collect();
        let assign =
            v1::AssignGroupRequest { group: text(NAME_BYTES), session_id: id, assignments, ..Default::default() };
        for (path, len) in [
            ("/tenure.v1.LockService/Acquire", acquire.encoded_len()),
            ("/tenure.v1.WatchService/Watch", watch.encoded_len()),
            ("/tenure.v1.GroupService/ConfigureGroup", configure.encoded_len()),
            ("/tenure.v1.GroupService/AssignGroup", assign.encoded_len()),
        ] {
            assert!(len <= method(path).largest, "{path}: {len}");
            assert!(2 * len > method(path).largest || method(path) == once(FIELDS), "{path}: {len}");
        }
    }
}
