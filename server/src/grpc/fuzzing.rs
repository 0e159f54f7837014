//! Exposes the validation of names and page tokens to fuzzers, without a request around them.

use tenure_core::{Names, Text};
use tenure_proto::v1::Refusal;

use super::pieces::{self, Piece};
use super::status::refusal;
use super::{page_token, validate};

/// Validates a namespace; empty is the default one.
///
/// # Errors
/// If it is invalid.
pub fn namespace(value: &str) -> Result<&str, Refusal> {
    validate::namespace(value).map_err(|status| refusal(&status))
}

/// Validates the name of a lock or a group.
///
/// # Errors
/// If it is invalid.
pub fn name(value: &str) -> Result<Text, Refusal> {
    validate::name("name", value).map_err(|status| refusal(&status))
}

/// Validates the names of a claim.
///
/// # Errors
/// If they are invalid.
pub fn names(values: &[String]) -> Result<Names, Refusal> {
    validate::names(values).map_err(|status| refusal(&status))
}

/// Validates a prefix of names.
///
/// # Errors
/// If no name can start with it.
pub fn prefix(value: &str) -> Result<(), Refusal> {
    validate::prefix(value).map_err(|status| refusal(&status))
}

/// Validates the id of a session.
///
/// # Errors
/// If it is invalid.
pub fn session_id(value: &str) -> Result<Text, Refusal> {
    validate::session_id("session_id", value).map_err(|status| refusal(&status))
}

/// The ranges of a list of names that start with `prefix`, if these names and everything below them may be read: in
/// order, the start of each, and whether it covers everything that starts with that.
#[must_use]
pub fn readable(tops: Vec<String>, prefix: &str) -> Vec<(String, bool)> {
    let pieces = pieces::pieces(Some(tops), prefix);
    pieces.into_iter().map(|piece| (piece.start().to_owned(), matches!(piece, Piece::Prefix(_)))).collect()
}

/// The token of the page after `last`, for the list with this scope.
#[must_use]
pub fn page_token(scope: &str, last: &str) -> String {
    page_token::token(scope, Some(last))
}

/// The position after which the page of a token starts.
///
/// # Errors
/// If no list with this scope returned it.
pub fn page_after(scope: &str, token: &str) -> Result<Option<String>, Refusal> {
    page_token::after(scope, token).map_err(|status| refusal(&status))
}
