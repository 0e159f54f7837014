//! The material shipped with the program: a cheat sheet, the manual, completions, and the list of JSON outputs.

mod cheat;
#[cfg(test)]
mod examples;
mod formats;
mod man;
mod text;

pub use cheat::{CHEAT, GRPCURL};
pub use formats::printed;
pub use man::{Page, page, pages};
