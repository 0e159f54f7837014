//! Computes the ranges of names that a list scans: only readable ones, so that neither other names nor their number
//! matter.

/// A contiguous range of names in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A single name.
    Name(String),
    /// All names that start with this.
    Prefix(String),
}

impl Piece {
    /// The start of the range, in byte order.
    pub(crate) fn start(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Prefix(prefix) => prefix,
        }
    }

    /// Whether a name that starts with [`start`](Self::start) is in the range.
    pub(crate) fn has(&self, name: &str) -> bool {
        matches!(self, Self::Prefix(_)) || self.start() == name
    }
}

/// The ranges of a list of names that start with `prefix`, in byte order and disjoint. `readable`: the names that may
/// be read, each with everything below it; `None`: all names.
pub(crate) fn pieces(readable: Option<Vec<String>>, prefix: &str) -> Vec<Piece> {
    let Some(tops) = readable else { return vec![Piece::Prefix(prefix.to_owned())] };
    let mut pieces = Vec::new();
    for top in tops {
        let below = format!("{top}/");
        if prefix.starts_with(&below) {
            pieces.push(Piece::Prefix(prefix.to_owned()));
        } else if below.starts_with(prefix) {
            if top.starts_with(prefix) {
                pieces.push(Piece::Name(top));
            }
            pieces.push(Piece::Prefix(below));
        }
    }
    pieces.sort_by_key(|piece| (piece.start().to_owned(), matches!(piece, Piece::Name(_))));
    pieces.dedup();
    let mut covered: Option<String> = None;
    pieces.retain(|piece| {
        let is_part = covered.as_ref().is_some_and(|prefix| piece.start().starts_with(prefix.as_str()));
        if let (false, Piece::Prefix(prefix)) = (is_part, piece) {
            covered = Some(prefix.clone());
        }
        !is_part
    });
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tops: &[&str], prefix: &str) -> Vec<String> {
        let tops = tops.iter().map(ToString::to_string).collect();
        let shown = |piece: Piece| match piece {
            Piece::Name(name) => name,
            Piece::Prefix(prefix) => format!("{prefix}*"),
        };
        pieces(Some(tops), prefix).into_iter().map(shown).collect()
    }

    #[test]
    fn pieces_of_a_name_are_itself_and_all_below_it_in_byte_order() {
        assert_eq!(of(&["b", "a"], ""), ["a", "a/*", "b", "b/*"]);
        assert_eq!(of(&["a", "a-x"], ""), ["a", "a-x", "a-x/*", "a/*"], "- is before /");
        assert_eq!(of(&["a", "a/b", "a/b/c", "a"], ""), ["a", "a/*"], "pieces within others are left out");
        assert!(of(&[], "").is_empty());
        assert_eq!(pieces(None, "x"), [Piece::Prefix("x".to_owned())]);
    }

    #[test]
    fn prefix_selects_what_begins_with_it() {
        assert_eq!(of(&["team-a", "team-b", "x"], "team-"), ["team-a", "team-a/*", "team-b", "team-b/*"]);
        assert_eq!(of(&["team-a"], "team-a"), ["team-a", "team-a/*"]);
        assert_eq!(of(&["team-a"], "team-a/"), ["team-a/*"]);
        assert_eq!(of(&["team-a"], "team-a/x"), ["team-a/x*"]);
        assert!(of(&["team-a"], "team-ab").is_empty() && of(&["team-a"], "other").is_empty());
        assert_eq!(of(&["a/b", "a"], "a/b/c"), ["a/b/c*"]);
        assert_eq!(of(&["a/b", "a"], "a/b"), ["a/b*"], "in whatever order they are granted");
    }
}
