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
        if line.trim().is_empty() {
            goes_on = false;
            continue;
        }
        if let Some(line) = line.strip_prefix("  ") {
            match pieces.last_mut() {
                Some(Piece::Literal(lines)) => lines.push(line),
                _ => pieces.push(Piece::Literal(vec![line])),
            }
            goes_on = false;
            continue;
        }
        match pieces.last_mut() {
            Some(Piece::Prose(prose)) if goes_on => {
                prose.push(' ');
                prose.push_str(line);
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

/// The `tenure` commands in the literal lines of a text, each as its words.
#[cfg(test)]
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for piece in pieces(text) {
        let Piece::Literal(lines) = piece else { continue };
        let mut begun = String::new();
        for line in lines {
            begun.push_str(line);
            begun.push('\n');
            let is_open = line.ends_with('|') || line.ends_with('\\');
            if let Some(words) = shlex::split(&begun).filter(|_| !is_open) {
                commands.extend(of_line(&words));
                begun.clear();
            }
        }
        assert!(begun.is_empty(), "this never ends: {begun}");
    }
    commands
}

/// The parts between pipes and other separators that start with `tenure`; a command may also be nested in `$(…)`.
#[cfg(test)]
fn of_line(words: &[String]) -> Vec<Vec<String>> {
    const BETWEEN: [&str; 11] = ["|", "||", "&&", ";", ">", ">>", "<", "do", "done", "then", "\\"];
    let words: Vec<String> = words.iter().flat_map(|word| between(word)).collect();
    let parts = words.split(|word| BETWEEN.contains(&word.as_str()));
    parts.filter(|part| part.first().is_some_and(|word| word == "tenure")).map(<[String]>::to_vec).collect()
}

#[cfg(test)]
fn between(word: &str) -> Vec<String> {
    let word = word.strip_suffix('\n').unwrap_or(word);
    let opened = ["token=$(", "<("].iter().find_map(|opening| word.strip_prefix(opening));
    match (opened, word.strip_suffix(';')) {
        (Some(first), _) => vec![";".to_owned(), first.to_owned()],
        (None, Some(last)) => vec![last.to_owned(), ";".to_owned()],
        (None, None) if word.ends_with(')') && !word.contains('(') => vec![word.trim_end_matches(')').to_owned()],
        (None, None) => vec![word.to_owned()],
    }
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

    #[test]
    fn commands_are_found_among_others() {
        let text = "  # a comment\n  tenure ls jobs/ | jq '.a | .b'    # and why\n  cat x |\n    tenure group set a - && echo\n  \
            token=$(tenure renew me)\n  while read -r id; do tenure close \"$id\"; done\n  tenure lock a -- sh -c 'b;\n  c'";
        let found: Vec<String> = commands(text).iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            found,
            [
                "tenure ls jobs/",
                "tenure group set a -",
                "tenure renew me",
                "tenure close $id",
                "tenure lock a -- sh -c b;\nc"
            ]
        );
    }
}
