//! The subset of etcd's messages that the bench uses, with etcd's names and numbers.

use prost::{Enumeration, Message, Oneof};

/// The header of every response.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    /// The store's revision at the time of the response.
    #[prost(int64, tag = "3")]
    pub revision: i64,
}

/// The operator of a [`Compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum CompareResult {
    /// Equality.
    Equal = 0,
}

/// The operand of a [`Compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum CompareTarget {
    /// The number of changes since the key was created.
    Version = 0,
    /// The revision at which the key was created: 0 if it does not exist.
    Create = 1,
}

/// A condition of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct Compare {
    /// The operator.
    #[prost(enumeration = "CompareResult", tag = "1")]
    pub result: i32,
    /// The operand.
    #[prost(enumeration = "CompareTarget", tag = "2")]
    pub target: i32,
    /// The key.
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    /// The expected value.
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
    /// The lease that the key is attached to.
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

/// An operation of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct RequestOp {
    /// The operation.
    #[prost(oneof = "Op", tags = "2, 3")]
    pub request: Option<Op>,
}

/// An operation.
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
    /// The operations if all conditions hold.
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<RequestOp>,
}

impl TxnRequest {
    /// Executes `op` if `key` was created at this revision: 0 for a key that does not exist.
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

/// The result of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct TxnResponse {
    /// The header, with the revision.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Whether the conditions held.
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
}

/// Creates a lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantRequest {
    /// The TTL, in seconds.
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
    /// The TTL, in seconds.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

/// Revokes a lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRevokeRequest {
    /// Its id.
    #[prost(int64, tag = "1")]
    pub id: i64,
}

/// The response to [`LeaseRevokeRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRevokeResponse {}

/// Acquires a lock.
#[derive(Clone, PartialEq, Message)]
pub struct LockRequest {
    /// Its name.
    #[prost(bytes = "vec", tag = "1")]
    pub name: Vec<u8>,
    /// The lease that the hold is attached to.
    #[prost(int64, tag = "2")]
    pub lease: i64,
}

/// A hold.
#[derive(Clone, PartialEq, Message)]
pub struct LockResponse {
    /// The key that represents the hold.
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
}

/// Releases a hold.
#[derive(Clone, PartialEq, Message)]
pub struct UnlockRequest {
    /// The key that represents the hold.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

/// The response to [`UnlockRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct UnlockResponse {}

/// Renews a lease.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveRequest {
    /// Its id.
    #[prost(int64, tag = "1")]
    pub id: i64,
}

/// The response to [`LeaseKeepAliveRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveResponse {
    /// The lease's id.
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// The TTL, in seconds. 0: the lease does not exist any more.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

/// A request on a watch stream.
#[derive(Clone, PartialEq, Message)]
pub struct WatchRequest {
    /// A new watch.
    #[prost(message, optional, tag = "1")]
    pub create_request: Option<WatchCreateRequest>,
}

/// A new watch.
#[derive(Clone, PartialEq, Message)]
pub struct WatchCreateRequest {
    /// The first key of the range.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// The end of the range, exclusive.
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
}
