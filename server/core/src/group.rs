//! Groups: named sets of members with a leader, one shared config value and an assignment for each member.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::encoding::{is_default, pairs};
use crate::end::EndReason;
use crate::model::{Metadata, Opening, Revision, ServerId, metadata_bytes, no_labels};
use crate::names::Text;

/// The maximum number of members of one group. With this limit, a group fits into one message with its metadata and
/// assignments.
pub const MEMBERS: usize = 1_000;

/// The maximum size of the metadata of all members of one group, in bytes, keys and values together.
pub const ATTACHED_BYTES: usize = 1024 * 1024;

/// The maximum number of groups that one session is a member of.
pub const MEMBERSHIPS: usize = 100;

/// The maximum number of groups of one namespace: a group with a config stays until that is cleared.
pub const GROUPS: usize = 10_000;

/// The parameters of a membership.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct MemberSpec {
    /// The id of the session that joined.
    pub session: Text,
    /// The revision that opened that session.
    pub opened: Revision,
    /// The owner label of that session.
    pub owner: Text,
    /// Arbitrary labels.
    #[serde(default = "no_labels", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// The number by which its client has declared it; 0: the session joined by a call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub declared: u64,
}

/// One session's membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The revision of the event that created it: increases in the order of joining.
    pub number: Revision,
    /// Its parameters.
    pub spec: Arc<MemberSpec>,
    /// The leader's last assignment to it; none if that was made before it joined.
    pub assignment: Option<Text>,
}

/// The leadership of a group: the member that joined first leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Lead {
    /// The leader's number.
    #[serde(rename = "leader")]
    pub member: Revision,
    /// The revision of the event that made it the leader: greater than the token of every previous leader.
    pub token: Revision,
}

/// The shared config of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The value.
    pub value: Text,
    /// The revision of the event that set it.
    pub revision: Revision,
}

/// The revisions that assignments are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Basis {
    /// The group's membership revision.
    pub membership: Revision,
    /// The group's config revision; 0 without a config.
    #[serde(rename = "config_revision")]
    pub config: Revision,
}

/// The last assignments of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The revision of the event that made them.
    pub revision: Revision,
    /// The revisions that they were computed from.
    pub basis: Basis,
}

/// A group with members, a config, or both. A group with neither is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The revision of the event that created it.
    pub id: Revision,
    /// Its name.
    pub name: Text,
    /// Its members by number, and so in order of joining.
    pub members: BTreeMap<Revision, Member>,
    /// The leadership; none without members.
    pub lead: Option<Lead>,
    /// The revision of the last event by which a member joined or left; 0 if there was none.
    pub membership: Revision,
    /// The shared config.
    pub config: Option<Config>,
    /// The last assignments.
    pub assigned: Option<Assigned>,
}

impl Group {
    /// The group after a change; none if it has neither members nor a config left.
    #[must_use]
    pub fn after(
        before: Option<Arc<Self>>,
        id: Revision,
        name: &Text,
        revision: Revision,
        change: &GroupChange,
    ) -> Option<Arc<Self>> {
        let mut after = before.unwrap_or_else(|| Arc::new(Self { id, name: name.clone(), ..Self::default() }));
        Arc::make_mut(&mut after).change(revision, change);
        (!after.members.is_empty() || after.config.is_some()).then_some(after)
    }

    fn change(&mut self, revision: Revision, change: &GroupChange) {
        match change {
            GroupChange::Joined { spec, lead } => {
                self.members.insert(revision, Member { number: revision, spec: spec.clone(), assignment: None });
                (self.lead, self.membership) = (Some(*lead), revision);
            }
            GroupChange::Left { member, lead, .. } => {
                self.members.remove(member);
                (self.lead, self.membership) = (*lead, revision);
            }
            GroupChange::Configured { config } => {
                self.config = config.clone().map(|value| Config { value, revision });
            }
            GroupChange::Assigned { basis, assignments, .. } => {
                for (number, assignment) in &**assignments {
                    if let Some(member) = self.members.get_mut(number) {
                        member.assignment = Some(assignment.clone());
                    }
                }
                self.assigned = Some(Assigned { revision, basis: *basis });
            }
        }
    }

    /// The member that leads.
    #[must_use]
    pub fn leader(&self) -> Option<&Member> {
        self.members.get(&self.lead?.member)
    }

    /// The revision of the event that set the config; 0 without one.
    #[must_use]
    pub fn config_revision(&self) -> Revision {
        self.config.as_ref().map_or(Revision(0), |config| config.revision)
    }

    /// The current revisions, which new assignments must be computed from.
    #[must_use]
    pub fn basis(&self) -> Basis {
        Basis { membership: self.membership, config: self.config_revision() }
    }

    /// Whether the assignments are those of the current members, computed from the current config.
    #[must_use]
    pub fn is_assigned(&self) -> bool {
        !self.members.is_empty() && self.assigned.is_some_and(|assigned| assigned.basis == self.basis())
    }

    /// The size of its members' metadata, in bytes.
    #[must_use]
    pub(crate) fn attached_bytes(&self) -> usize {
        self.members.values().map(|member| metadata_bytes(&member.spec.metadata)).sum()
    }
}

/// A change of a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum GroupChange {
    /// A session became a member; its number is this event's revision.
    Joined {
        /// The parameters of the membership.
        #[serde(flatten)]
        spec: Arc<MemberSpec>,
        /// The leadership from now on.
        #[serde(flatten)]
        lead: Lead,
    },
    /// A member left.
    Left {
        /// Its number.
        member: Revision,
        /// The id of its session.
        session: Text,
        /// The revision that opened that session.
        opened: Revision,
        /// The owner label of that session.
        owner: Text,
        /// The reason: released, or the reason for the end of its session.
        reason: EndReason,
        /// The number by which its client had declared it; 0: the session had joined by a call.
        #[serde(default, skip_serializing_if = "is_default")]
        declared: u64,
        /// The leadership from now on; none if no member is left.
        #[serde(flatten, deserialize_with = "optional_lead")]
        lead: Option<Lead>,
    },
    /// The config was set, or cleared.
    Configured {
        /// The value; none if it was cleared.
        #[serde(skip_serializing_if = "Option::is_none")]
        config: Option<Text>,
    },
    /// The leader made an assignment to every member.
    Assigned {
        /// The leadership.
        #[serde(flatten)]
        lead: Lead,
        /// The revisions that the assignments were computed from.
        #[serde(flatten)]
        basis: Basis,
        /// The assignments, by the members' numbers.
        #[serde(with = "pairs")]
        assignments: Assignments,
    },
}

/// Decodes the leadership, if there is one. serde alone takes damaged fields of a flattened `Option` for none.
fn optional_lead<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Lead>, D::Error> {
    use serde::de::Error;

    #[derive(Deserialize)]
    struct Parts {
        leader: Option<Revision>,
        token: Option<Revision>,
    }
    match Parts::deserialize(deserializer)? {
        Parts { leader: Some(member), token: Some(token) } => Ok(Some(Lead { member, token })),
        Parts { leader: None, token: None } => Ok(None),
        Parts { leader: None, .. } => Err(D::Error::missing_field("leader")),
        Parts { token: None, .. } => Err(D::Error::missing_field("token")),
    }
}

/// Assignments by the members' numbers.
pub type Assignments = Arc<BTreeMap<Revision, Text>>;

/// A command on a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupCommand {
    /// Makes a session a member. An existing membership stays unchanged.
    Join {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
        /// Opens the session with this if it is not open; otherwise sets its TTL and makes `home` its home.
        opening: Option<Opening>,
        /// The server that issues the command.
        home: ServerId,
        /// See [`Acquire::opened`](crate::Acquire::opened).
        opened: Option<Revision>,
        /// Arbitrary labels.
        metadata: Metadata,
    },
    /// Ends a membership. Idempotent.
    Leave {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
        /// Restricts the command to the membership with this number.
        member: Option<Revision>,
    },
    /// Sets the config of a group. Requires neither a session nor members.
    Configure {
        /// The group.
        group: Text,
        /// The value; none clears it.
        config: Option<Text>,
        /// The required revision of the current config; 0: there must be none.
        expected: Option<Revision>,
    },
    /// Makes an assignment to every member of a group, on behalf of its leader.
    Assign {
        /// The group.
        group: Text,
        /// The leader's session.
        session: Text,
        /// The leader's token.
        token: Revision,
        /// The revisions that the assignments were computed from.
        basis: Basis,
        /// The assignments: one for each member.
        assignments: Assignments,
    },
}

impl GroupCommand {
    /// The session that issues the command.
    pub(crate) fn session(&self) -> Option<&Text> {
        match self {
            Self::Join { session, .. } | Self::Leave { session, .. } | Self::Assign { session, .. } => Some(session),
            Self::Configure { .. } => None,
        }
    }

    /// The size of its payload, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Join { opening, metadata, .. } => {
                metadata_bytes(metadata) + opening.as_ref().map_or(0, |opening| metadata_bytes(&opening.metadata))
            }
            Self::Leave { .. } => 0,
            Self::Configure { config, .. } => config.as_ref().map_or(0, |config| config.len()),
            Self::Assign { assignments, .. } => assignments.values().map(|assignment| assignment.len()).sum(),
        }
    }
}

/// The outcome of a group command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupOutcome {
    /// The session is a member.
    Joined {
        /// Its number.
        member: Revision,
        /// The group at `revision`.
        group: Arc<Group>,
        /// The session's TTL.
        ttl: Duration,
        /// The namespace's revision at that time.
        revision: Revision,
    },
    /// The session is not, or no longer, a member with that number.
    Left,
    /// The config is as requested.
    Configured {
        /// The revision of the event that set it; 0 if there is none.
        config: Revision,
    },
    /// The assignments are as requested.
    Assigned {
        /// The revision of the event that made them.
        revision: Revision,
    },
}
