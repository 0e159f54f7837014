//! The shell snippets of all pages, and an environment in which they run as written.

mod fences;
mod stage;

pub use fences::{Fence, fences};
pub use stage::{Ran, Stage};
