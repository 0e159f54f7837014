//! Calls to the whole service, as `service` draws them: requests field by field, each with the choices that lead to its
//! value.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use super::Seed;
use crate::contract::{self, METHODS};
use crate::service::drawn::is_usual;

/// A field, and the choices for its value.
type Choices<'c> = (&'c str, &'c [u8]);

// The choices for some values: a number is the index of a returned value, newest first.
const BOB: &[u8] = &[1];
const CID: &[u8] = &[3];
const A: &[u8] = &[0, 0];
const B: &[u8] = &[0, 1];
const SECOND: &[u8] = &[0, 0];
const SHARED: &[u8] = &[2];
const PERMITS: &[u8] = &[3];

pub(super) fn seeds() -> Vec<Seed> {
    let hold = call("LockService/Acquire", &[]);
    let wait = beside("LockService/Acquire", &[("session_id", BOB)]);
    let release = call("LockService/Release", &[("token", &[0, 2])]);
    // While it is answered, the spawned call joins the queue.
    let get = call("LockService/GetLock", &[]);
    let seeds = [
        ("acquire-and-release", vec![hold.clone(), release.clone()]),
        (
            "acquire-two-names-shared",
            vec![
                call("LockService/Acquire", &[("names", &[1, 0, 1]), ("mode", SHARED)]),
                call("LockService/Acquire", &[("session_id", BOB), ("mode", SHARED)]),
                call("LockService/Acquire", &[("session_id", CID), ("names", B), ("wait", SECOND)]),
            ],
        ),
        (
            "wait-until-released",
            vec![hold.clone(), wait.clone(), get.clone(), call("LockService/Release", &[("token", &[0, 4])])],
        ),
        (
            "wait-cancelled",
            vec![hold.clone(), wait.clone(), get.clone(), call("LockService/CancelAcquire", &[("session_id", BOB)])],
        ),
        (
            "permits-reconfigured",
            vec![
                call("LockService/Acquire", &[("mode", PERMITS), ("permits", &[2]), ("limit", &[3])]),
                call("LockService/ConfigureLock", &[("settings", &settings())]),
                get.clone(),
            ],
        ),
        (
            "session-renewed-and-closed",
            vec![
                call("SessionService/OpenSession", &[]),
                call("SessionService/Renew", &[]),
                call("SessionService/GetSession", &[]),
                call("SessionService/ListSessions", &[]),
                call("SessionService/CloseSession", &[]),
            ],
        ),
        (
            "group-configured-and-assigned",
            vec![
                call("GroupService/JoinGroup", &[]),
                call("GroupService/ConfigureGroup", &[("config", &[1])]),
                call("GroupService/GetGroup", &[]),
                call(
                    "GroupService/AssignGroup",
                    &[
                        ("token", &[0, 3]),
                        ("membership_revision", &[0, 2]),
                        ("config_revision", &[0, 1]),
                        ("assignments", &[0, 3, 1]),
                    ],
                ),
                call("GroupService/LeaveGroup", &[]),
            ],
        ),
        (
            "transfer-then-evict",
            vec![
                hold.clone(),
                wait,
                get.clone(),
                call("LockService/Transfer", &[("token", &[0, 4]), ("to_session_id", BOB)]),
                call("LockService/Evict", &[("token", &[0, 2])]),
            ],
        ),
        (
            "lists-page-by-page",
            vec![
                hold.clone(),
                call("LockService/Acquire", &[("names", B)]),
                call("LockService/ListLocks", &[("page_size", &[0])]),
                call("LockService/ListLocks", &[("page_token", &[0])]),
                call("LockService/ListBlocked", &[]),
                call("LockService/ListHistory", &[]),
                call("ServerService/ListServers", &[]),
            ],
        ),
        (
            "watch-while-it-changes",
            vec![beside("WatchService/Watch", &[("names", A)]), get, hold.clone(), release.clone()],
        ),
        (
            "appends-fail-in-each-way",
            vec![failing(0, &hold), failing(1, &hold), release.clone(), failing(2, &hold), release],
        ),
        (
            "names-out-of-bounds",
            vec![
                call("LockService/Acquire", &[("namespace", &[4])]),
                call("LockService/Acquire", &[("names", &[1, 0, 4])]),
                call("GroupService/JoinGroup", &[("group", &[5])]),
            ],
        ),
    ];
    seeds.map(|(name, calls)| ("service", name, calls.concat())).to_vec()
}

/// A call that is awaited.
fn call(method: &str, given: &[Choices<'_>]) -> Vec<u8> {
    [made(method, given), vec![1]].concat()
}

/// A call that runs concurrently with later ones.
fn beside(method: &str, given: &[Choices<'_>]) -> Vec<u8> {
    [made(method, given), vec![0]].concat()
}

fn made(method: &str, given: &[Choices<'_>]) -> Vec<u8> {
    let index = METHODS.iter().position(|known| contract::path(known).ends_with(method)).expect("a method");
    let request = choices(&METHODS[index].input(), given);
    [&[0, u8::try_from(index).expect("few")], &request[..]].concat()
}

/// A call during which an append fails.
fn failing(way: u8, call: &[u8]) -> Vec<u8> {
    [&[15, way], &call[1..]].concat()
}

fn settings() -> Vec<u8> {
    choices(&contract::message("LockSettings"), &[("limit", &[2])])
}

/// The choices for a message whose fields have these values; the other fields have the first value, or none where they
/// are optional.
fn choices(descriptor: &MessageDescriptor, given: &[Choices<'_>]) -> Vec<u8> {
    let unknown = given.iter().find(|(name, _)| descriptor.get_field_by_name(name).is_none());
    assert!(unknown.is_none(), "{} has no {unknown:?}", descriptor.name());
    let find = |field: &FieldDescriptor| given.iter().find(|(name, _)| *name == field.name()).map(|(_, value)| *value);
    let mut drawn = Vec::new();
    for field in descriptor.fields().filter(|field| field.containing_oneof().is_none_or(|oneof| oneof.is_synthetic())) {
        let value = find(&field);
        if !is_usual(&field) {
            drawn.push(value.is_some().into());
        } else if value.is_none() {
            drawn.extend(first_value(&field));
        }
        drawn.extend(value.unwrap_or_default());
    }
    for oneof in descriptor.oneofs().filter(|oneof| !oneof.is_synthetic()) {
        let index = oneof.fields().position(|field| find(&field).is_some()).expect("a field of the oneof");
        drawn.push(u8::try_from(index).expect("few"));
        drawn.extend(oneof.fields().nth(index).and_then(|field| find(&field)).unwrap_or_default());
    }
    drawn
}

/// Zeros, as many as the choices for a value of this kind take.
fn first_value(field: &FieldDescriptor) -> Vec<u8> {
    let length = if matches!(field.kind(), Kind::String) { 1 } else { 2 };
    vec![0; length + usize::from(field.is_list())]
}
