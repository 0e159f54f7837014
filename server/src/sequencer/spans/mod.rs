//! The spans of a command in the sequencer, and of the batch that includes it.

mod append;
mod command;

pub(super) use append::{append, appended};
pub(super) use command::{command, forwarded, passed, replied};
