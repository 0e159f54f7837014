//! The deterministic core of Tenure, which decides which sessions hold which locks. Commands go in, events and
//! rejections come out. Nothing here blocks, reads a clock, draws a random number or does I/O, so the same commands in
//! the same order produce the same table everywhere.
//!
//! - [`Table`] is the state of one namespace. [`Table::decide`] turns a [`Command`] into [`Event`]s, which are
//!   provisional until they are known to be committed; [`Table::apply`] applies events that other servers committed. It
//!   holds no time.
//! - [`Home`] keeps the timers of the sessions whose renewals one server takes. Time is an argument.

mod ascending;
mod client;
mod command;
mod encoding;
mod end;
mod event;
mod few;
mod group;
mod home;
mod lock;
mod map;
mod model;
mod names;
mod recent;
mod rejection;
mod table;

pub use ascending::Ascending;
pub use client::{
    Absence, Change, Client, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Hello, Item, Items,
    Membership,
};
pub use command::{Acquire, Actor, Command, FEW_CLAIM_BYTES, Handoff, Limits, Outcome, Request};
pub use encoding::{Millis, whole_millis};
pub use end::{EndReason, Eviction};
pub use event::{Event, Recorded};
pub use few::Few;
pub use group::{
    ATTACHED_BYTES, Assigned, Assignments, Basis, Config, GROUPS, Group, GroupChange, GroupCommand, GroupOutcome, Lead,
    MEMBERS, MEMBERSHIPS, Member, MemberSpec,
};
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use home::{Home, RenewError, Renewals, Tick};
pub use lock::Lock;
pub use model::{
    AskedMode, CLAIM_BYTES, Claim, ClaimSpec, ClaimState, LockSettings, Metadata, Mode, Opening, Preempt, Rank,
    Revision, ServerId, Session, SessionSpec, Transfer, metadata_bytes, no_labels,
};
pub use names::{Names, Text};
pub use recent::Recent;
pub use rejection::{Obstacle, Rejection};
pub use table::{DeadlockSearch, Table, Totals};
