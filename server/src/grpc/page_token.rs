//! Fills pages of lists, and encodes page tokens: the scope of a list and the position after which its next page
//! starts.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tonic::Status;

use super::status::invalid;
use crate::limits;

/// Separates the scope of a list from the position of its next page; neither contains this character.
const SEPARATOR: char = '\u{1f}';

/// Maximum number of entries examined for one page. Few of them may match: the list then continues in further pages,
/// and never delays other requests.
const LOOKED_AT: usize = 10_000;

/// Maps the matching entries into a page of at most `size` results and about [`limits::PAGE`] bytes, as counted by
/// `bytes_of`. Also returns the last entry examined, if more may follow. `Break` ends the page before an entry.
pub(crate) fn fill<T: Copy, R>(
    entries: impl Iterator<Item = T>,
    size: usize,
    bytes_of: impl Fn(&R) -> usize,
    mut look: impl FnMut(T) -> ControlFlow<(), Option<R>>,
) -> (Vec<R>, Option<T>) {
    let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
    for (looked_at, entry) in entries.enumerate() {
        if page.len() == size || looked_at == LOOKED_AT || bytes >= limits::PAGE {
            return (page, last);
        }
        match look(entry) {
            ControlFlow::Continue(wanted) => {
                bytes += wanted.as_ref().map_or(0, &bytes_of);
                page.extend(wanted);
            }
            ControlFlow::Break(()) => return (page, last),
        }
        last = Some(entry);
    }
    (page, None)
}

/// The token of the page after `last`, for the list with this scope. Empty if no page follows.
pub(crate) fn token(scope: &str, last: Option<impl Display>) -> String {
    last.map(|last| BASE64_URL_SAFE_NO_PAD.encode(format!("{scope}{SEPARATOR}{last}"))).unwrap_or_default()
}

/// Decodes a token: its page starts after the returned position. `None` for the first page.
///
/// # Errors
/// If no list with this scope returned it.
pub(crate) fn after<T: FromStr>(scope: &str, token: &str) -> Result<Option<T>, Status> {
    if token.is_empty() {
        return Ok(None);
    }
    let bound = "the next_page_token of the same list: with the same namespace, prefix or name";
    decode(scope, token).map(Some).ok_or_else(|| invalid("page_token", bound))
}

fn decode<T: FromStr>(scope: &str, token: &str) -> Option<T> {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let (of, last) = text.split_once(SEPARATOR)?;
    if of == scope && !last.is_empty() { last.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow::{Break, Continue};

    use super::*;

    #[test]
    fn page_ends_when_it_is_full_or_enough_was_examined() {
        let even = |number: usize| Continue((number.is_multiple_of(2)).then_some(number));
        assert_eq!(fill(0..10, 3, |_| 0, even), (vec![0, 2, 4], Some(4)));
        assert_eq!(fill(0..5, 3, |_| 0, even), (vec![0, 2, 4], None), "no entries are left");
        assert_eq!(fill(0..6, 3, |_| 0, even), (vec![0, 2, 4], Some(4)), "entries are left, wanted or not");
        let none = |_| Continue(None::<usize>);
        assert_eq!(fill(0..LOOKED_AT, 3, |_| 0, none), (vec![], None));
        assert_eq!(fill(0..LOOKED_AT + 1, 3, |_| 0, none), (vec![], Some(LOOKED_AT - 1)));
        let up_to_3 = |number| if number > 3 { Break(()) } else { even(number) };
        assert_eq!(fill(0..10, 3, |_| 0, up_to_3), (vec![0, 2], Some(3)), "the next page begins there");
        let full = (vec![0, 2], Some(2));
        assert_eq!(fill(0..10, 3, |_| limits::PAGE / 2, even), full, "in bytes");
        assert_eq!(fill(0..0, 3, |_| 0, even), (vec![], None));
    }
}
