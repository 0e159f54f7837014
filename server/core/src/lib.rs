//! Tenure's core: who holds what. Commands go in, events and rejections come out; nothing here waits, reads a clock,
//! draws a random number or does I/O, so the same commands in the same order give the same table everywhere.
//!
//! - [`Table`] is the state of one namespace. [`Table::decide`] turns a [`Command`] into [`Event`]s (provisionally, until
//!   they are known to be committed), [`Table::apply`] takes over events that others have committed. It holds no time.
//! - [`Home`] keeps the timers of the sessions that one server takes renewals for. Time is an argument.

mod command;
mod event;

mod model;
mod rejection;

pub use command::{Command, Opening, Outcome};
pub use event::{EndReason, Event, Eviction, Recorded};

pub use model::{Claim, ClaimSpec, ClaimState, Lock, Metadata, Rank, Revision, ServerId, Session, SessionSpec, Text};
pub use rejection::Rejection;
