//! Page tokens: where the next page begins, for whom it was made.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::problem::Problem;

/// Separates what the list is about from where its next page begins; neither contains it.
const SEPARATOR: char = '\u{1f}';

/// The most entries that are looked at for one page. What is wanted of them may be few: a list of that goes through more in further
/// pages, and never holds up what others ask for.
pub(crate) const LOOKED_AT: usize = 10_000;

/// The wanted ones of these, for a page of this size; and the last that was looked at, if there may be more after it.
pub(crate) fn fill<T: Copy>(
    entries: impl Iterator<Item = T>,
    size: usize,
    is_wanted: impl Fn(T) -> bool,
) -> (Vec<T>, Option<T>) {
    let (mut wanted, mut last) = (Vec::new(), None);
    for (looked_at, entry) in entries.enumerate() {
        if wanted.len() == size || looked_at == LOOKED_AT {
            return (wanted, last);
        }
        if is_wanted(entry) {
            wanted.push(entry);
        }
        last = Some(entry);
    }
    (wanted, None)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_when_it_is_full_or_enough_was_looked_at() {
        let even = |number| number % 2 == 0;
        assert_eq!(fill(0..10, 3, even), (vec![0, 2, 4], Some(4)));
        assert_eq!(fill(0..5, 3, even), (vec![0, 2, 4], None), "nothing is left");
        assert_eq!(fill(0..6, 3, even), (vec![0, 2, 4], Some(4)), "something is left, wanted or not");
        assert_eq!(fill(0..LOOKED_AT, 3, |_| false), (vec![], None));
        assert_eq!(fill(0..LOOKED_AT + 1, 3, |_| false), (vec![], Some(LOOKED_AT - 1)));
        assert_eq!(fill(0..0, 3, even), (vec![], None));
    }
}
