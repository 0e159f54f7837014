//! What is printed: tables and sentences for people, proto JSON for programs.

mod blocked;
mod groups;
mod history;
mod json;
mod locks;
mod servers;
mod sessions;
mod style;
mod terms;
mod top;
mod why;

use std::io::{self, IsTerminal, Write};

pub use blocked::blocked;
pub use groups::{group, groups, happened as group_happened, now as group_now};
pub use history::history;
pub use json::{Message, value as json};
pub use locks::{claims, describe_claim, describe_holder, duration, lock, locks, metadata, who_holds};
pub use servers::servers;
pub use sessions::{session, sessions};
pub use style::{bold, plain, show_duration};
pub use terms::{handing_over, in_mode, settings};
pub use top::{Screen, State, top};
pub use why::{Standing, why};

use crate::args::Format;
use crate::exit::Failure;

/// Where results go, and how.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    format: Format,
}

impl Output {
    /// Prints in `format` to the standard output.
    pub fn new(format: Format) -> Self {
        Self { format }
    }

    /// Prints a message of the service: as JSON, or as the text that `text` makes of it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn message<M: Message>(&self, message: &M, text: impl FnOnce(&M) -> String) -> Result<(), Failure> {
        let text = match self.format {
            Format::Json => json::render(message, io::stdout().is_terminal())?,
            Format::Table => text(message),
        };
        line(&text)
    }

    /// Prints one message of many: as one line of JSON, or as the lines that `text` makes of it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn streamed<M: Message>(&self, message: &M, text: impl FnOnce(&M) -> Vec<String>) -> Result<(), Failure> {
        match self.format {
            Format::Json => line(&json::render(message, false)?),
            Format::Table => text(message).iter().try_for_each(|text| line(text)),
        }
    }

    /// Prints a value that is no message of the service: as JSON, or as text.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn value(&self, value: &serde_json::Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match self.format {
            Format::Json => line(&value.to_string()),
            Format::Table => line(&text()),
        }
    }

    /// Prints a failure to the standard error. That it may be closed is no reason to fail twice.
    pub fn failure(&self, failure: &Failure) {
        let text = match self.format {
            Format::Table => failure.to_string(),
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

/// Tells people something on the standard error.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
