//! Exposes the validation of names and page tokens to fuzzers, without a request around them.

use tenure_proto::v1::Refusal;

use super::page_token;
use super::pieces::{self, Piece};
pub use super::status::refusal;
pub use super::validate::{name, names, namespace, prefix, session_id};

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
