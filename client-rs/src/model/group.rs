//! The data types of groups.

use std::collections::BTreeMap;
use std::time::SystemTime;

use strum::IntoStaticStr;

use super::{EndReason, Metadata};

/// The assignments of a group, by the members' numbers. Each at most 16384 bytes; all together at most 1048576.
pub type Assignments = BTreeMap<u64, String>;

/// A named set of members with a leader, one shared config value and an assignment for each member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The leader: the oldest member. `None` without members.
    pub leader: Option<GroupLeader>,
    /// The members in order of joining.
    pub members: Vec<GroupMember>,
    /// The revision of the last event by which a member joined or left; 0 without one.
    pub membership_revision: u64,
    /// The shared value, if there is one.
    pub config: Option<String>,
    /// The revision of the event that set the config; 0 without one.
    pub config_revision: u64,
    /// Whether the assignments are those for these members and this config.
    pub assignments_current: bool,
    /// The revision of the event of the last assignments; 0 if there were none.
    pub assignments_revision: u64,
    /// The membership revision that the last assignments were computed from.
    pub assigned_membership_revision: u64,
    /// The config revision that the last assignments were computed from.
    pub assigned_config_revision: u64,
}

impl Group {
    /// The member of this number.
    #[must_use]
    pub fn member(&self, number: u64) -> Option<&GroupMember> {
        self.members.iter().find(|member| member.number == number)
    }

    /// Assignments for all members: `value` returns that of a member, given its index in the order of joining.
    #[must_use]
    pub fn assign(&self, mut value: impl FnMut(usize, &GroupMember) -> String) -> Assignments {
        self.members.iter().enumerate().map(|(place, member)| (member.number, value(place, member))).collect()
    }
}

/// The leader of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLeader {
    /// The leader's number.
    pub member: u64,
    /// The leader's token, greater than that of every leader before.
    pub token: u64,
    /// The leader's session.
    pub session_id: String,
    /// The owner label of that session.
    pub owner: String,
}

/// One session's membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The member's number: rises in order of joining.
    pub number: u64,
    /// The session that joined.
    pub session_id: String,
    /// The owner label of that session.
    pub owner: String,
    /// The labels of the membership.
    pub metadata: Metadata,
    /// The last assignment by the leader. `None`: none since it joined.
    pub assignment: Option<String>,
}

/// An event of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
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
