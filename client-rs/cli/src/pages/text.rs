//! Parses help texts into headings, prose, and literal lines.

/// A piece of a help text.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A separate line that ends with a colon.
    Heading(&'a str),
    /// A paragraph.
    Prose(String),
    /// Indented lines.
    Literal(Vec<&'a str>),
}

/// The maximum length of a heading.
const HEADING: usize = 20;

/// Splits a text into pieces.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let in_paragraph = std::mem::take(&mut goes_on);
        match (line.strip_prefix("  "), pieces.last_mut()) {
            _ if line.trim().is_empty() => {}
            (Some(line), Some(Piece::Literal(lines))) => lines.push(line),
            (Some(line), _) => pieces.push(Piece::Literal(vec![line])),
            (None, Some(Piece::Prose(prose))) if in_paragraph => {
                prose.push(' ');
                prose.push_str(line);
                goes_on = true;
            }
            _ if line.len() <= HEADING && line.ends_with(':') => {
                pieces.push(Piece::Heading(line.trim_end_matches(':')));
            }
            _ => {
                pieces.push(Piece::Prose(line.to_owned()));
                goes_on = true;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_headings_prose_and_what_stands_as_it_is() {
        let text = "Examples:\n  # Why\n  tenure ls\n\nIt lists\nthem. For example:\n\n  a\n    b\n";
        assert_eq!(
            pieces(text),
            [
                Piece::Heading("Examples"),
                Piece::Literal(vec!["# Why", "tenure ls"]),
                Piece::Prose("It lists them. For example:".into()),
                Piece::Literal(vec!["a", "  b"]),
            ]
        );
    }
}
