//! The spans of a command on its way through the sequencer, and of the batch that it becomes a part of.

mod append;
mod passage;

pub(super) use append::{append, appended};
pub(super) use passage::{handed_on, passage, passed, told};
