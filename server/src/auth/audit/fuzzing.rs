//! Entry point for fuzzers: audit lines as they are written, without a file.

use std::net::SocketAddr;
use std::time::SystemTime;

use super::line::Line;
use super::{Act, Actor};

/// The contents of a line, as unvalidated text.
#[derive(Clone, Debug, Default)]
pub struct LineFields<'a> {
    /// The rule that denied the operation, if any.
    pub rule: Option<&'a str>,
    /// The caller's identity.
    pub identity: Option<&'a str>,
    /// The caller's address.
    pub address: Option<SocketAddr>,
    /// The called path.
    pub path: &'a str,
    /// The namespace.
    pub namespace: &'a str,
    /// The names of locks or groups.
    pub names: &'a [&'a str],
    /// The session.
    pub session: &'a str,
    /// The fencing token.
    pub token: u64,
    /// The operator's self-declared name.
    pub operator: &'a str,
    /// The operator's note.
    pub note: &'a str,
}

/// The encoded line, including its line break.
#[must_use]
pub fn line(fields: &LineFields<'_>, now: SystemTime) -> Vec<u8> {
    let act = Act::called(fields.path).there(fields.namespace).on(fields.names.iter().copied()).by(fields.session);
    let act = act.with(fields.token).because(fields.operator, fields.note);
    Line::new(Actor { identity: fields.identity, address: fields.address }, &act, fields.rule).encode(now)
}
