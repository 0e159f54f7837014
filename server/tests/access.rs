//! Authorization: the policy on every call, and access to sessions of other identities. Over gRPC, on a database in
//! memory.

mod asking;
mod audited;
mod calls;
mod file;
mod floods;
mod limits;
mod names;
mod namespaces;
mod owners;
pub(crate) mod service;
mod under_way;
mod verbs;
