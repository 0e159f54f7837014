//! The style of text: the terminal's width, colours where they are wanted, and escaped control characters.

use std::env;
use std::io::{self, IsTerminal};

use clap::ColorChoice;
use rustix::fd::AsFd;
use rustix::termios::tcgetwinsize;

/// The width of a terminal that does not report one.
const DEFAULT_WIDTH: usize = 80;

/// The capabilities of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Its width. None: unlimited, as for a pipe or a file.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub colours: bool,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    Plain,
    Bold,
    Dim,
    Good,
    Notice,
    Bad,
}

impl Style {
    /// A pipe, or a file.
    pub const PIPE: Self = Self { width: None, colours: false };

    /// The look of the standard output.
    pub fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    /// The look of the standard error.
    pub fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    fn of(output: &(impl AsFd + IsTerminal)) -> Self {
        if !output.is_terminal() {
            return Self::PIPE;
        }
        let reported = tcgetwinsize(output).map_or(0, |size| usize::from(size.ws_col));
        let columns = || env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0);
        let width = if reported > 0 { reported } else { columns().unwrap_or(DEFAULT_WIDTH) };
        Self { width: Some(width), colours: !colours_disabled() }
    }

    /// Whether text can be redrawn in place.
    pub fn can_redraw(self) -> bool {
        self.width.is_some() && !is_dumb()
    }

    /// The text in a colour, if the output shows colours.
    pub fn paint(self, text: &str, tint: Tint) -> String {
        let code = match tint {
            _ if !self.colours => return text.to_owned(),
            Tint::Plain => return text.to_owned(),
            Tint::Bold => 1,
            Tint::Dim => 2,
            Tint::Good => 32,
            Tint::Notice => 33,
            Tint::Bad => 31,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The colour choice for clap's help and usage errors. Clap's default would colour a dumb terminal of a CI system.
pub fn help_colours() -> ColorChoice {
    if colours_disabled() { ColorChoice::Never } else { ColorChoice::Auto }
}

/// Whether colours are disabled for all terminals.
fn colours_disabled() -> bool {
    is_dumb() || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether the terminal supports no control sequences.
fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Bold text, if the standard output supports it.
pub fn bold(text: &str) -> String {
    Style::of_stdout().paint(text, Tint::Bold)
}

/// Untrusted text with control characters escaped: it must not move the cursor or break a line.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            // Directional overrides and isolates reorder the surrounding text.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.extend(char.escape_unicode()),
            _ if char.is_control() => shown.extend(char.escape_default()),
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
        assert_eq!(escape("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(escape("한글 é"), "한글 é");
        assert_eq!(escape("\u{202e}x"), "\\u{202e}x");
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let (wanted, unwanted) = (Style { width: None, colours: true }, Style::PIPE);
        assert_eq!(wanted.paint("x", Tint::Bad), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!((wanted.paint("x", Tint::Plain), unwanted.paint("x", Tint::Bad)), ("x".into(), "x".into()));
    }
}
