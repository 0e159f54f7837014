//! The part of etcd's messages that the bench speaks, with etcd's names and numbers.

use prost::{Enumeration, Message, Oneof};

/// In every answer.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    /// The store's revision when this was so.
    #[prost(int64, tag = "3")]
    pub revision: i64,
}

/// How a [`Compare`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum CompareResult {
    /// For equality.
    Equal = 0,
}

/// What a [`Compare`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum CompareTarget {
    /// The number of changes since the key was created.
    Version = 0,
    /// The revision at which the key was created: 0 if it is not there.
    Create = 1,
}

/// A condition of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct Compare {
    /// How.
    #[prost(enumeration = "CompareResult", tag = "1")]
    pub result: i32,
    /// What.
    #[prost(enumeration = "CompareTarget", tag = "2")]
    pub target: i32,
    /// Of which key.
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    /// With this.
    #[prost(int64, optional, tag = "5")]
    pub create_revision: Option<i64>,
}

/// Writes a key.
#[derive(Clone, PartialEq, Message)]
pub struct PutRequest {
    /// The key.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// Its value.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
    /// The lease that it ends with.
    #[prost(int64, tag = "3")]
    pub lease: i64,
}

/// Removes a key.
#[derive(Clone, PartialEq, Message)]
pub struct DeleteRangeRequest {
    /// The key.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

/// One step of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct RequestOp {
    /// Which.
    #[prost(oneof = "Op", tags = "2, 3")]
    pub request: Option<Op>,
}

/// A step.
#[derive(Clone, PartialEq, Oneof)]
pub enum Op {
    /// Writes a key.
    #[prost(message, tag = "2")]
    Put(PutRequest),
    /// Removes a key.
    #[prost(message, tag = "3")]
    DeleteRange(DeleteRangeRequest),
}

/// A transaction.
#[derive(Clone, PartialEq, Message)]
pub struct TxnRequest {
    /// The conditions.
    #[prost(message, repeated, tag = "1")]
    pub compare: Vec<Compare>,
    /// What is done if all of them hold.
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<RequestOp>,
}

impl TxnRequest {
    /// Does `op` if `key` was created at this revision: 0 for a key that is not there.
    pub fn if_created_at(key: &[u8], create_revision: i64, op: Op) -> Self {
        let compare = Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Create.into(),
            key: key.to_vec(),
            create_revision: Some(create_revision),
        };
        Self { compare: vec![compare], success: vec![RequestOp { request: Some(op) }] }
    }
}

/// What came of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct TxnResponse {
    /// At which revision.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Whether the conditions held.
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
}

/// Makes a lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantRequest {
    /// In seconds.
    #[prost(int64, tag = "1")]
    pub ttl: i64,
    /// 0: the server chooses.
    #[prost(int64, tag = "2")]
    pub id: i64,
}

/// A lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantResponse {
    /// Its id.
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// In seconds.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

/// Ends a lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRevokeRequest {
    /// Its id.
    #[prost(int64, tag = "1")]
    pub id: i64,
}

/// Answers [`LeaseRevokeRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRevokeResponse {}

/// Waits for a lock.
#[derive(Clone, PartialEq, Message)]
pub struct LockRequest {
    /// Its name.
    #[prost(bytes = "vec", tag = "1")]
    pub name: Vec<u8>,
    /// The lease that the hold ends with.
    #[prost(int64, tag = "2")]
    pub lease: i64,
}

/// A hold.
#[derive(Clone, PartialEq, Message)]
pub struct LockResponse {
    /// The key that stands for it.
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
}

/// Gives a hold back.
#[derive(Clone, PartialEq, Message)]
pub struct UnlockRequest {
    /// The key that stands for it.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

/// Answers [`UnlockRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct UnlockResponse {}

/// Renews a lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveRequest {
    /// Its id.
    #[prost(int64, tag = "1")]
    pub id: i64,
}

/// Answers [`LeaseKeepAliveRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveResponse {
    /// The lease's id.
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// In seconds. 0: the lease is gone.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

/// Asks for something on a stream of watches.
#[derive(Clone, PartialEq, Message)]
pub struct WatchRequest {
    /// A new watch.
    #[prost(message, optional, tag = "1")]
    pub create_request: Option<WatchCreateRequest>,
}

/// A new watch.
#[derive(Clone, PartialEq, Message)]
pub struct WatchCreateRequest {
    /// From this key on.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// Up to this key, exclusively.
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
}
