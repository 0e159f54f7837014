//! Authorization: the policy on every call, and access to sessions of other identities. Over gRPC, on a database in
//! memory.

mod audited;
mod calls;
mod declared;
mod floods;
mod limits;
mod names;
mod namespaces;
mod owners;
mod policy_file;
mod requests;
mod revocation;
mod service;
mod verbs;
