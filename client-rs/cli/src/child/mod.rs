//! Runs CMD under a hold, so that it ends before the hold does.
//!
//! Three mechanisms ensure this. `tenure` itself starts CMD in a process group of its own, passes signals on, and stops
//! the group by [`Schedule`]. A *guard*, a second process of the same program, receives the same deadlines; it stops
//! the group if `tenure` is frozen or killed, and releases the lock after a kill. The guard need not know of handoffs:
//! a handoff that is not confirmed does not take place. If both are killed, the kernel kills CMD together with `tenure`
//! (Linux). A [`HealthCheck`] detects a CMD that hangs, so that the hold is not renewed for it.

mod exec;
mod guard;
mod health;
mod process;
mod schedule;
mod signals;
mod supervise;
mod terminal;

pub use exec::exec;
pub use guard::guard;
pub use health::{Health, HealthCheck};
pub use process::since_boot;
pub use schedule::{Action, MOST_GRACE_DIVISOR, Schedule};
pub use signals::Signals;
pub use supervise::{Outcome, Task, Validity, supervise};
