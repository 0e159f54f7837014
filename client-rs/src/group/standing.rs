//! The state of a member in its group.

use std::sync::Arc;

use crate::error::LostReason;
use crate::model::Group;

/// The standing of a member in its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The member's number.
    pub number: u64,
    /// The last known state of the group.
    pub group: Arc<Group>,
    /// Why the membership is lost, if it is. The group may continue without this member.
    pub lost: Option<LostReason>,
}

impl Standing {
    /// The assignment of this member. `None` without one, and after a loss.
    #[must_use]
    pub fn assignment(&self) -> Option<&str> {
        let member = self.group.member(self.number).filter(|_| self.lost.is_none());
        member.and_then(|member| member.assignment.as_deref())
    }

    /// Whether the assignment was computed from the current members and config. If not, the leader has yet to compute
    /// it.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.lost.is_none() && self.group.assignments_current
    }

    /// Whether this member leads.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.token().is_some()
    }

    /// The token by which this member leads, if it does.
    #[must_use]
    pub fn token(&self) -> Option<u64> {
        let leader = self.group.leader.as_ref().filter(|_| self.lost.is_none());
        leader.filter(|leader| leader.member == self.number).map(|leader| leader.token)
    }
}
