//! The spans of a command in the sequencer, and of the batch that includes it.

mod append;
mod passage;

pub(super) use append::{append, appended};
pub(super) use passage::{handed_on, passage, passed, told};
