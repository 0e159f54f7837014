//! How text looks: tables fitted to the terminal, colours where they are wanted, nothing that plays with the terminal.

use std::env;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets};

/// Whether the standard output takes colours: it is a terminal, and `NO_COLOR` is not set.
fn colours() -> bool {
    io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// An empty table under these headings. On a terminal it is fitted to its width; in a pipe each row is one line.
pub fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.force_no_tty().set_content_arrangement(ContentArrangement::Disabled);
    }
    table.set_header(headings.iter().map(|heading| {
        let cell = Cell::new(heading);
        if colours() { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    table
}

/// The table as text, without the blanks at the ends of lines.
pub fn finish(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// A time that was measured, to the microsecond.
pub fn show_duration(duration: Duration) -> String {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_micros(micros)).to_string()
}

/// Emphasis, where the terminal takes it.
pub fn bold(text: &str) -> String {
    if colours() { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Text of others, with control characters made visible: it must not move the cursor or break a line.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            // Directional overrides and isolates reorder what stands around them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(shown, "{}", char.escape_unicode());
            }
            _ if char.is_control() => {
                let _ = write!(shown, "{}", char.escape_default());
            }
            _ => shown.push(char),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(plain("한글 é"), "한글 é");
        assert_eq!(plain("\u{202e}x"), "\\u{202e}x");
    }

    #[test]
    fn a_table_in_a_pipe_has_a_line_a_row() {
        let mut table = table(&["NAME", "HOLDER"]);
        table.add_row(["x".repeat(300), "host".to_owned()]);
        let text = finish(&table);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("NAME"));
        assert!(lines[1].ends_with("host"));
    }
}
