//! Programs that use Tenure and write down what they were told, for `tenure-checker`. The simulation runs them on its
//! hosts, chaos in processes.

mod caller;
pub mod draw;
mod member;
mod spread;
mod task;
mod watcher;
mod worker;

pub use task::{Habits, Place, Task, start};
