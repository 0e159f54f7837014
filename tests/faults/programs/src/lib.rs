//! Programs that use Tenure and record the replies for `tenure-checker`. The simulation runs them on its hosts, the
//! chaos tests in processes.

mod caller;
pub mod draw;
mod member;
mod spread;
mod task;
mod watcher;
mod worker;

pub use task::{Environment, ProgramOptions, Task, start};
