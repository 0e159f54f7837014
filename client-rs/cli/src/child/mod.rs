//! Running CMD under a hold, so that it ends before the hold does.
//!
//! Three processes see to it. `tenure` itself starts CMD in a process group of its own, passes signals on, and stops the
//! group by [`Schedule`]. A *guard*, a second process of the same program, is told the same deadlines; it stops the group
//! should `tenure` be frozen or killed, and gives the lock back after a kill. It need not know of handoffs: what nobody
//! confirms does not take place. And CMD dies with `tenure` by the kernel's hand (Linux), should both be killed.
//! Should CMD hang, a [`HealthCheck`] tells, so that the hold is not kept for it.

mod exec;
mod guard;
mod health;
mod process;
mod schedule;
mod signals;
mod supervise;
mod terminal;

pub use exec::exec;
pub use guard::{Left, guard};
pub use health::{Health, HealthCheck};
pub use process::since_boot;
pub use schedule::{Action, MOST_GRACE_DIVISOR, Schedule};
pub use signals::Signals;
pub use supervise::{Outcome, SessionToClose, Task, Validity, supervise};
