//! The shell snippets of all pages, and an environment in which they run as written.

mod fences;
mod sandbox;

pub use fences::{Fence, fences};
pub use sandbox::{RunOutput, Sandbox};
