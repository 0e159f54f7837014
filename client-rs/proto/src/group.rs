//! What programs compute from the state of a group.

use std::collections::BTreeMap;

use crate::v1::{Group, GroupMember};

impl Group {
    /// The member of this number.
    #[must_use]
    pub fn member(&self, number: u64) -> Option<&GroupMember> {
        self.members.iter().find(|member| member.number == number)
    }

    /// Assignments for all members, by their numbers: `value` returns that of a member, given its index in the order of
    /// joining.
    #[must_use]
    pub fn assign(&self, mut value: impl FnMut(usize, &GroupMember) -> String) -> BTreeMap<u64, String> {
        self.members.iter().enumerate().map(|(index, member)| (member.number, value(index, member))).collect()
    }
}
