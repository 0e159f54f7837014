//! Tenure's core: who holds what. Commands go in, events and rejections come out; nothing here waits, reads a clock,
//! draws a random number or does I/O, so the same commands in the same order give the same table everywhere.
//!
//! - [`Table`] is the state of one namespace. [`Table::decide`] turns a [`Command`] into [`Event`]s (provisionally, until
//!   they are known to be committed), [`Table::apply`] takes over events that others have committed. It holds no time.
//! - [`Home`] keeps the timers of the sessions that one server takes renewals for. Time is an argument.

mod by_revision;
mod command;
mod end;
mod event;
mod few;
mod group;
mod home;
mod lock;
mod map;
mod model;
mod names;
mod rejection;
mod table;

pub use command::{Actor, AskedMode, Command, FEW_CLAIM_BYTES, Handoff, Limits, Origin, Outcome, Request};
pub use end::{EndReason, Eviction};
pub use event::{Event, Recorded};
pub use few::Few;
pub use group::{
    ATTACHED_BYTES, Assigned, Assignments, Basis, Config, GROUPS, Group, GroupChange, GroupCommand, GroupOutcome, Lead,
    MEMBERS, MEMBERSHIPS, Member, MemberSpec,
};
#[doc(hidden)]
pub mod defect;

pub use home::{Home, RenewError, Renewals, StreamId, Tick};
pub use lock::Lock;
pub use model::{
    Attached, CLAIM_BYTES, Claim, ClaimSpec, ClaimState, LockSettings, Metadata, Mode, Opening, Preempt, Rank,
    Revision, ServerId, Session, SessionSpec, Transfer, metadata_bytes, no_labels,
};
pub use names::{Names, Text};
pub use rejection::{Obstacle, Rejection};
pub use table::{DeadlockSearch, Table, Totals};
