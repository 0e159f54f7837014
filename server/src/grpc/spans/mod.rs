//! Spans of plain calls and of stream commands.

mod call;
mod layer;

pub(super) use call::{answered, command};
pub(crate) use layer::TraceLayer;
