//! The shell snippets of all pages: where they are, and a stage on which they run as written.

mod fences;
mod stage;

pub use fences::{Fence, fences};
pub use stage::{Ran, Stage};
