//! The data types of groups.

use std::collections::BTreeMap;
use std::time::SystemTime;

use strum::IntoStaticStr;
pub use tenure_proto::v1::{Group, GroupLeader, GroupMember};

use super::EndReason;

/// The assignments of a group, by the members' numbers. Each at most 16384 bytes; all together at most 1048576.
pub type Assignments = BTreeMap<u64, String>;

/// An event of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupEvent {
    /// The event's revision in the namespace.
    pub revision: u64,
    /// The group.
    pub group: String,
    /// What happened.
    pub kind: GroupEventKind,
    /// The member that joined or left.
    pub member: Option<GroupMember>,
    /// Why the member left, if it did.
    pub end_reason: Option<EndReason>,
    /// The number of the member that leads after this event. Not set for a config event.
    pub leader: Option<u64>,
    /// The leader's token. Not set for a config event.
    pub token: Option<u64>,
    /// The config that was set. None if it was cleared.
    pub config: Option<String>,
    /// The time by the wall clock of the server that wrote the event, for people.
    pub time: Option<SystemTime>,
}

/// A kind of event of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum GroupEventKind {
    /// A member joined.
    Joined,
    /// A member left.
    Left,
    /// The config was set or cleared.
    Configured,
    /// The leader assigned something to every member.
    Assigned,
    /// A kind that this version does not know.
    Unknown,
}

impl GroupEventKind {
    /// The kind in one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
