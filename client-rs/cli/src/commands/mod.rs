//! The commands, one a function: arguments in, exit code out.

mod change;
mod doctor;
mod elect;
mod fence;
mod hold;
mod lock;
mod read;
mod waiting;
mod watch;

pub use change::{acquire, close, evict, release, renew};
pub use doctor::doctor;
pub use elect::elect;
pub use fence::fence_sql;
pub use lock::lock;
pub use read::{get, ls, sessions};
pub use watch::watch;
