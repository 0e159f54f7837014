//! For fuzzers: what is checked of names and page tokens, without a request around them.

use tenure_core::{Names, Text};
use tenure_proto::v1::Refusal;

use super::pieces::{self, Piece};
use super::status::Problem;
use super::{page_token, validate};

/// A namespace; the default one for none.
///
/// # Errors
/// If it is none.
pub fn namespace(value: &str) -> Result<&str, Refusal> {
    validate::namespace(value).map_err(refusal)
}

/// The name of a lock or a group.
///
/// # Errors
/// If it is none.
pub fn name(value: &str) -> Result<Text, Refusal> {
    validate::name("name", value).map_err(refusal)
}

/// The names of a claim.
///
/// # Errors
/// If they are none.
pub fn names(values: &[String]) -> Result<Names, Refusal> {
    validate::names(values).map_err(refusal)
}

/// What names begin with.
///
/// # Errors
/// If no name can.
pub fn prefix(value: &str) -> Result<(), Refusal> {
    validate::prefix(value).map_err(refusal)
}

/// The id of a session.
///
/// # Errors
/// If it is none.
pub fn session_id(value: &str) -> Result<Text, Refusal> {
    validate::session_id("session_id", value).map_err(refusal)
}

/// What a list of what begins with `prefix` goes through, if these names and all below them may be read: in order, where each part
/// begins, and whether all belongs to it that begins so.
#[must_use]
pub fn readable(tops: Vec<String>, prefix: &str) -> Vec<(String, bool)> {
    let pieces = pieces::pieces(Some(tops), prefix);
    pieces.into_iter().map(|piece| (piece.start().to_owned(), matches!(piece, Piece::Prefix(_)))).collect()
}

/// The token of the page after `last`, of a list about `scope`.
#[must_use]
pub fn page_token(scope: &str, last: &str) -> String {
    page_token::token(scope, last)
}

/// Where the page of a token begins.
///
/// # Errors
/// If no list about `scope` gave it.
pub fn page_after(scope: &str, token: &str) -> Result<Option<String>, Refusal> {
    page_token::after(scope, token).map_err(refusal)
}

#[allow(clippy::needless_pass_by_value, reason = "as an error is mapped")]
fn refusal(problem: Problem) -> Refusal {
    problem.to_refusal()
}
