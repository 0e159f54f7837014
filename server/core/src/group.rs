//! Groups: named sets of members with a leader, one shared config value and an assignment for each member.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::end::EndReason;
use crate::model::{Attached, Metadata, Opening, Revision, ServerId, metadata_bytes};
use crate::names::Text;

/// The most members of one group. With what they attach and what is assigned to them, a group so fits into one message.
pub const MEMBERS: usize = 1_000;

/// The most metadata that the members of one group attach, in bytes, keys and values together.
pub const ATTACHED_BYTES: usize = 1024 * 1024;

/// The most groups that one session is a member of.
pub const MEMBERSHIPS: usize = 100;

/// The most groups of one namespace: a group that has a config stays until that is cleared.
pub const GROUPS: usize = 10_000;

/// What a membership is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberSpec {
    /// The id of the session that joined.
    pub session: Text,
    /// The revision that opened that session.
    pub opened: Revision,
    /// The owner label of that session.
    pub owner: Text,
    /// Free labels.
    pub metadata: Metadata,
}

/// One session's membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The revision of the event that made it: rises in the order of joining.
    pub number: Revision,
    /// What it was made with.
    pub spec: Arc<MemberSpec>,
    /// What the leader assigned to it last; none if that was before it joined.
    pub assignment: Option<Text>,
}

/// Who leads a group: the member that has been there longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The leader's number.
    pub member: Revision,
    /// The revision of the event that made it the leader: greater than the token of every leader before.
    pub token: Revision,
}

/// The value that a group shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The value.
    pub value: Text,
    /// The revision of the event that set it.
    pub revision: Revision,
}

/// What assignments are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basis {
    /// The group's membership revision.
    pub membership: Revision,
    /// The group's config revision; 0 without a config.
    pub config: Revision,
}

/// The last assignments of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The revision of the event that made them.
    pub revision: Revision,
    /// What they were computed from.
    pub basis: Basis,
}

/// A group with members, a config, or both. One that has neither is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The revision of the event that created it.
    pub id: Revision,
    /// Its name.
    pub name: Text,
    /// Its members by number, which is in order of joining.
    pub members: BTreeMap<Revision, Member>,
    /// Who leads; none without members.
    pub lead: Option<Lead>,
    /// The revision of the last event by which a member came or went; 0 if none ever did.
    pub membership: Revision,
    /// The value that it shares.
    pub config: Option<Config>,
    /// The last assignments.
    pub assigned: Option<Assigned>,
}

impl Group {
    fn new(id: Revision, name: Text) -> Self {
        let (members, membership) = (BTreeMap::new(), Revision(0));
        Self { id, name, members, lead: None, membership, config: None, assigned: None }
    }

    /// The group after a change; none if nothing is left of it.
    #[must_use]
    pub fn after(
        before: Option<Arc<Self>>,
        id: Revision,
        name: &Text,
        revision: Revision,
        change: &GroupChange,
    ) -> Option<Arc<Self>> {
        let mut after = before.unwrap_or_else(|| Arc::new(Self::new(id, name.clone())));
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

    /// What assignments have to be computed from now.
    #[must_use]
    pub fn basis(&self) -> Basis {
        Basis { membership: self.membership, config: self.config_revision() }
    }

    /// Whether the assignments are those of the members that are there, computed from the config that is there.
    #[must_use]
    pub fn is_assigned(&self) -> bool {
        !self.members.is_empty() && self.assigned.is_some_and(|assigned| assigned.basis == self.basis())
    }

    /// How much its members attach, in bytes.
    #[must_use]
    pub(crate) fn attached_bytes(&self) -> usize {
        self.members.values().map(|member| metadata_bytes(&member.spec.metadata)).sum()
    }
}

/// What happened to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupChange {
    /// A session became a member; its number is this event's revision.
    Joined {
        /// What the membership was made with.
        spec: Arc<MemberSpec>,
        /// Who leads from now on.
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
        /// Why it left: released, or why its session ended.
        reason: EndReason,
        /// Who leads from now on; none if nobody is left.
        lead: Option<Lead>,
    },
    /// The config was set, or cleared.
    Configured {
        /// The value; none if it was cleared.
        config: Option<Text>,
    },
    /// The leader assigned something to every member.
    Assigned {
        /// The leader.
        lead: Lead,
        /// What the assignments were computed from.
        basis: Basis,
        /// What was assigned, by the members' numbers.
        assignments: Assignments,
    },
}

/// Assignments by the members' numbers.
pub type Assignments = Arc<BTreeMap<Revision, Text>>;

/// What can be asked of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupCommand {
    /// Makes a session a member. If it is one already, it stays the one that it is.
    Join {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
        /// Opens the session with this if it is not open; if it is, sets its TTL and makes `home` its home.
        opening: Option<Opening>,
        /// The server that asks.
        home: ServerId,
        /// If it came by a stream that the session was attached to: what was known of that then.
        attached: Option<Attached>,
        /// As of [`Command::Acquire`](crate::Command::Acquire).
        opened: Option<Revision>,
        /// Free labels.
        metadata: Metadata,
    },
    /// Ends a membership. Repeating it is no error.
    Leave {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
        /// Only the membership of this number.
        member: Option<Revision>,
    },
    /// Sets the value that a group shares. Needs neither a session nor members.
    Configure {
        /// The group.
        group: Text,
        /// The value; none clears it.
        config: Option<Text>,
        /// Only if this is the revision of the config that is there; 0: only if there is none.
        expected: Option<Revision>,
    },
    /// Assigns something to every member of a group, on behalf of its leader.
    Assign {
        /// The group.
        group: Text,
        /// The leader's session.
        session: Text,
        /// The leader's token.
        token: Revision,
        /// What the assignments were computed from.
        basis: Basis,
        /// What is assigned: one for each member.
        assignments: Assignments,
    },
}

impl GroupCommand {
    /// The session that asks.
    pub(crate) fn session(&self) -> Option<&Text> {
        match self {
            Self::Join { session, .. } | Self::Leave { session, .. } | Self::Assign { session, .. } => Some(session),
            Self::Configure { .. } => None,
        }
    }

    /// How much it brings along, in bytes.
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

/// What came of a command about a group.
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
        /// The namespace's revision at which this was so.
        revision: Revision,
    },
    /// The session is no member with that number (any more).
    Left,
    /// The config is what was asked for.
    Configured {
        /// The revision of the event that set it; 0 if there is none.
        config: Revision,
    },
    /// The assignments are what was asked for.
    Assigned {
        /// The revision of the event that made them.
        revision: Revision,
    },
}
