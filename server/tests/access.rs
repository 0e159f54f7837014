//! Who may do what: the policy, on every call, and what is somebody else's. Over gRPC, on a database in memory.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

#[path = "access/asking.rs"]
mod asking;
#[path = "access/audited.rs"]
mod audited;
#[path = "access/calls.rs"]
mod calls;
#[path = "access/file.rs"]
mod file;
#[path = "access/floods.rs"]
mod floods;
#[path = "access/limits.rs"]
mod limits;
#[path = "access/names.rs"]
mod names;
#[path = "access/namespaces.rs"]
mod namespaces;
#[path = "access/office.rs"]
mod office;
#[path = "access/owners.rs"]
mod owners;
mod serving;
#[path = "access/under_way.rs"]
mod under_way;
#[path = "access/verbs.rs"]
mod verbs;
