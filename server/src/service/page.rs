//! Page tokens: where the next page begins, for whom it was made.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::problem::Problem;

/// Separates what the list is about from where its next page begins; neither contains it.
const SEPARATOR: char = '\u{1f}';

/// The token of the page after `last`, of a list about `scope`.
pub(crate) fn token(scope: &str, last: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{scope}{SEPARATOR}{last}"))
}

/// The refusal of a token that no list gave.
pub(crate) fn forged() -> Problem {
    Problem::field("page_token", "the next_page_token of the same list: with the same namespace, prefix or name")
}

/// Where the page of this token begins: after the returned place. `None` for the first page.
pub(crate) fn after(scope: &str, token: &str) -> Result<Option<String>, Problem> {
    if token.is_empty() {
        return Ok(None);
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| forged())?;
    let text = String::from_utf8(bytes).map_err(|_| forged())?;
    let (of, last) = text.split_once(SEPARATOR).ok_or_else(forged)?;
    if of == scope && !last.is_empty() { Ok(Some(last.to_owned())) } else { Err(forged()) }
}
