//! For fuzzers: lines as they are written, without a file.

use std::net::SocketAddr;
use std::time::SystemTime;

use super::line::Line;
use super::{Act, Actor};

/// What is told, in texts that nobody has checked.
#[derive(Clone, Debug, Default)]
pub struct Told<'a> {
    /// By what it was refused, if it was.
    pub rule: Option<&'a str>,
    /// Who asked for it.
    pub identity: Option<&'a str>,
    /// From where.
    pub address: Option<SocketAddr>,
    /// What was called.
    pub path: &'a str,
    /// Where.
    pub namespace: &'a str,
    /// On which names.
    pub names: &'a [&'a str],
    /// In which session.
    pub session: &'a str,
    /// With which fencing token.
    pub token: u64,
    /// The operator as it calls itself.
    pub operator: &'a str,
    /// Why.
    pub note: &'a str,
}

/// Its line, with its end.
#[must_use]
pub fn line(told: &Told<'_>, now: SystemTime) -> Vec<u8> {
    let act = Act::new("").called(told.path).there(told.namespace).on(told.names.iter().copied()).by(told.session);
    let act = act.with(told.token).because(told.operator, told.note);
    Line::new(Actor { identity: told.identity, address: told.address }, &act, told.rule).encode(now)
}
