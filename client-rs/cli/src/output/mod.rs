//! Prints results: tables and sentences for people, proto JSON for programs.

mod blocked;
mod groups;
mod history;
mod json;
mod locks;
mod servers;
mod sessions;
mod style;
mod table;
mod terms;
mod time;
mod top;
mod why;

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

pub use blocked::blocked;
pub use groups::{describe_group, describe_group_event, group, groups};
pub use history::{history, history_gone};
pub use json::{Message, fields, value as json};
pub use locks::{claims, describe_claim, describe_holders, describe_obstacle, lock, locks, metadata};
pub use servers::servers;
pub use sessions::{session, sessions};
pub use style::{Style, Tint, bold, escape, help_colours};
pub use table::{ID_WIDTH, Table, column, truncate, truncate_middle};
pub use terms::{by, end_reason, handoff, in_mode, settings};
pub use time::{duration, event_time, exact, human, timestamp};
pub use top::{State, top};
pub use why::{Explanation, why};

use crate::args::Format;
use crate::exit::{self, Failure};

/// A result formatted for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The result, for the standard output. None: the result is empty.
    pub text: Option<String>,
    /// An additional note, for the standard error, so that programs that read the output do not see it.
    pub note: Option<String>,
}

impl Shown {
    /// An empty result, reported by a note.
    pub fn nothing(note: impl Into<String>) -> Self {
        Self { text: None, note: Some(note.into()) }
    }
}

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self { text: Some(text), note: None }
    }
}

/// Prints results in one format. Its methods fail if the output cannot be written.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    format: Format,
}

impl Output {
    /// An output that prints in `format`.
    pub fn new(format: Format) -> Self {
        Self { format }
    }

    /// Prints a message of the service: as JSON, or as formatted by `shown`. Returns the exit code of success.
    pub fn message<M, S>(&self, message: &M, shown: impl FnOnce(&M) -> S) -> Result<u8, Failure>
    where
        M: Message,
        S: Into<Shown>,
    {
        match self.format {
            Format::Json => document(&json(message)?)?,
            Format::Table => show(&shown(message).into())?,
        }
        Ok(exit::OK)
    }

    /// Prints one message of a stream: as one line of JSON, or as the lines that `text` returns.
    pub fn streamed<M: Message>(&self, message: &M, text: impl FnOnce(&M) -> Vec<String>) -> Result<(), Failure> {
        match self.format {
            Format::Json => line(&json(message)?.to_string()),
            Format::Table => text(message).iter().try_for_each(|text| line(text)),
        }
    }

    /// Prints a value that is not a message of the service: as JSON, or as text. Returns the exit code of success.
    pub fn value(&self, value: &Value, text: impl FnOnce() -> String) -> Result<u8, Failure> {
        match self.format {
            Format::Json => document(value)?,
            Format::Table => line(&text())?,
        }
        Ok(exit::OK)
    }

    /// Prints one value of a stream: as one line of JSON, or as a line of text.
    pub fn streamed_value(&self, value: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match self.format {
            Format::Json => line(&value.to_string()),
            Format::Table => line(&text()),
        }
    }

    /// Prints a file that another program reads: verbatim, or in JSON. Returns the exit code of success.
    pub fn file(&self, value: &Value, file: &str) -> Result<u8, Failure> {
        let mut out = io::stdout().lock();
        match self.format {
            Format::Json => writeln!(out, "{value}")?,
            Format::Table => out.write_all(file.as_bytes())?,
        }
        out.flush()?;
        Ok(exit::OK)
    }

    /// Prints a failure to the standard error. Errors are ignored: the standard error may be closed.
    pub fn failure(&self, failure: &Failure) {
        let text = match self.format {
            Format::Table => {
                let text = failure.to_string();
                let (name, rest) = text.split_at(text.find(' ').unwrap_or(0));
                format!("{}{rest}", Style::of_stderr().paint(name, Tint::Bad))
            }
            Format::Json => serde_json::json!({"error": {
                "exitCode": failure.code,
                "reason": failure.reason,
                "message": failure.message,
                "next": failure.next,
            }})
            .to_string(),
        };
        say(&text);
    }
}

/// Prints a message for people to the standard error.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn show(shown: &Shown) -> Result<(), Failure> {
    if let Some(text) = &shown.text {
        line(text)?;
    }
    if let Some(note) = &shown.note {
        say(&Style::of_stderr().paint(note, Tint::Dim));
    }
    Ok(())
}

/// Prints a JSON document: indented on a terminal, and otherwise on one line.
fn document(value: &Value) -> Result<(), Failure> {
    line(&if io::stdout().is_terminal() { format!("{value:#}") } else { value.to_string() })
}

fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
