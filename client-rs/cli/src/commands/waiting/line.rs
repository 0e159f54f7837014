//! One line at the bottom of the terminal.

use std::io::{self, Write};

use crate::output::{Look, cut};

/// Shown anew in its place, and wiped off when dropped.
#[derive(Default)]
pub struct Line {
    shown: String,
}

impl Line {
    /// Shows this, as much of it as fits: a line that is broken by the terminal could not be wiped off.
    pub fn show(&mut self, text: &str) {
        let room = Look::of_stderr().width.map_or(usize::MAX, |width| width.saturating_sub(1));
        let text = cut(text, room);
        if text != self.shown {
            let _ = write!(io::stderr(), "\r\u{1b}[2K{text}");
            let _ = io::stderr().flush();
            self.shown = text;
        }
    }

    /// Shows nothing.
    pub fn clear(&mut self) {
        if !self.shown.is_empty() {
            self.show("");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}
