//! For fuzzers: what servers tell each other, as it is put into messages and taken out of them.

use prost::bytes::Bytes;
use tenure_core::{ServerId, Text};
use tenure_proto::internal as proto;

use super::{pack, wire};
use crate::sequencer::passing::{News, Pass};
use crate::store::Batch;

/// The message of a pass; none if some command cannot be passed.
#[must_use]
pub fn pass(pass: &Pass) -> Option<proto::Pass> {
    wire::pass(pass)
}

/// The pass of a message from this server; none if it is none that a server would send.
#[must_use]
pub fn taken(message: proto::Pass, from: ServerId) -> Option<Pass> {
    wire::taken(message, from)
}

/// The message of news.
#[must_use]
pub fn response(news: &News) -> proto::PassResponse {
    wire::response(news)
}

/// The news of a message from this server.
///
/// # Errors
/// If they are none.
pub fn news(message: proto::PassResponse, from: ServerId, namespace: &Text) -> Result<News, String> {
    wire::news(message, from, namespace)
}

/// The events of a batch as they travel.
#[must_use]
pub fn pack(batch: &Batch) -> Bytes {
    pack::pack(batch)
}
