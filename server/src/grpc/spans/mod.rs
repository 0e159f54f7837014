//! The spans of calls: of plain ones, and of a stream's commands.

mod call;
mod layer;

pub(super) use call::{answered, command};
pub(crate) use layer::TraceLayer;
