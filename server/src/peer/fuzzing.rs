//! For fuzzers: messages between servers, as they are encoded and decoded.

use tenure_core::{ServerId, Text};
use tenure_proto::internal as proto;

use super::message;
use crate::sequencer::forwarding::{CommitNotice, Forward};

/// The message of a forward.
#[must_use]
pub fn encode_forward(forward: &Forward) -> proto::ForwardRequest {
    message::encode_forward(forward)
}

/// The forward of a message from this server.
///
/// # Errors
/// If it is not one that a server would send.
pub fn decode_forward(request: &proto::ForwardRequest, from: ServerId) -> Result<Forward, String> {
    message::decode_forward(request, from)
}

/// The message of a notice.
#[must_use]
pub fn encode_notice(notice: &CommitNotice) -> proto::ForwardResponse {
    message::encode_notice(notice)
}

/// The notice of a message from this server.
///
/// # Errors
/// If it is not one that a server would send.
pub fn decode_notice(notice: proto::ForwardResponse, from: ServerId, namespace: &Text) -> Result<CommitNotice, String> {
    message::decode_notice(notice, from, namespace)
}
