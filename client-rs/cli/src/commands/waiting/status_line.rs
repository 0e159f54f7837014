//! A status line at the bottom of the terminal.

use std::io::{self, Write};

use crate::output::{Style, truncate};

/// Redrawn in place, and cleared when dropped.
#[derive(Default)]
pub struct StatusLine {
    shown: String,
}

impl StatusLine {
    /// Shows the text, truncated to the width of the terminal: a wrapped line could not be cleared. An empty text clears
    /// the line.
    pub fn show(&mut self, text: &str) {
        let width = Style::of_stderr().width.map_or(usize::MAX, |width| width.saturating_sub(1));
        let text = truncate(text, width);
        if text != self.shown {
            let _ = write!(io::stderr(), "\r\u{1b}[2K{text}");
            let _ = io::stderr().flush();
            self.shown = text;
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.show("");
    }
}
