//! Encoding and decoding of groups and their members as rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::{Assigned, Basis, Config, Group, Lead, Member, MemberSpec, Revision, Text};

use super::{int, number, optional_int, optional_text, text, unreadable};
use crate::store::codec::decode_metadata;
use crate::store::sql::connection::{Arg, DriverError, Row};
use crate::store::sql::statements::Table;

pub(crate) static GROUPS: Table = Table {
    name: "member_groups",
    columns: &[
        "namespace",
        "id",
        "name",
        "membership",
        "leader",
        "token",
        "config",
        "config_revision",
        "assigned",
        "assigned_membership",
        "assigned_config",
    ],
};

pub(crate) static MEMBERS: Table = Table {
    name: "group_members",
    columns: &["namespace", "group_id", "number", "session", "opened", "owner", "metadata", "assignment", "declared"],
};

/// Encodes rows of [`GROUPS`].
pub(crate) fn group_cells<'a>(namespace: &'a str, groups: &'a [Arc<Group>]) -> Vec<Arg<'a>> {
    let mut cells = Vec::with_capacity(groups.len() * GROUPS.columns.len());
    for group in groups {
        let (lead, config, assigned) = (group.lead, group.config.as_ref(), group.assigned);
        cells.extend([
            Arg::Text(namespace),
            int(group.id.0),
            Arg::Text(&group.name),
            int(group.membership.0),
            optional_int(lead.map(|lead| lead.member.0)),
            optional_int(lead.map(|lead| lead.token.0)),
            optional_text(config.map(|config| &*config.value)),
            optional_int(config.map(|config| config.revision.0)),
            optional_int(assigned.map(|assigned| assigned.revision.0)),
            optional_int(assigned.map(|assigned| assigned.basis.membership.0)),
            optional_int(assigned.map(|assigned| assigned.basis.config.0)),
        ]);
    }
    cells
}

/// Encodes rows of [`MEMBERS`]. `labels`: of each member of each group, as JSON.
pub(crate) fn member_cells<'a>(
    namespace: &'a str,
    groups: &'a [Arc<Group>],
    labels: &'a [Cow<'_, str>],
) -> Vec<Arg<'a>> {
    let members = groups.iter().flat_map(|group| group.members.values().map(|member| (group.id, member)));
    let mut cells = Vec::with_capacity(labels.len() * MEMBERS.columns.len());
    for ((group, Member { number, spec, assignment }), labels) in members.zip(labels) {
        cells.extend([
            Arg::Text(namespace),
            int(group.0),
            int(number.0),
            Arg::Text(&spec.session),
            int(spec.opened.0),
            Arg::Text(&spec.owner),
            Arg::Text(labels),
            optional_text(assignment.as_deref()),
            int(spec.declared),
        ]);
    }
    cells
}

fn revision(row: &Row<'_>, column: usize) -> Result<Revision, DriverError> {
    number(row, column).map(Revision)
}

/// Decodes a group from the columns of `load_groups`, without its members.
pub(crate) fn group(row: &Row<'_>) -> Result<Group, DriverError> {
    let some = |column: usize| !row.is_null(column);
    let lead = some(3).then(|| Ok(Lead { member: revision(row, 3)?, token: revision(row, 4)? }));
    let config = some(5).then(|| Ok(Config { value: text(row, 5)?, revision: revision(row, 6)? }));
    let assigned = some(7).then(|| {
        let basis = Basis { membership: revision(row, 8)?, config: revision(row, 9)? };
        Ok(Assigned { revision: revision(row, 7)?, basis })
    });
    Ok(Group {
        id: revision(row, 0)?,
        name: text(row, 1)?,
        members: BTreeMap::new(),
        lead: lead.transpose()?,
        membership: revision(row, 2)?,
        config: config.transpose()?,
        assigned: assigned.transpose()?,
    })
}

/// Adds a row of `load_members` to its group.
pub(crate) fn add_member(groups: &mut BTreeMap<Revision, Group>, row: &Row<'_>) -> Result<(), DriverError> {
    let (id, number) = (revision(row, 0)?, revision(row, 1)?);
    let stray = || DriverError::Unreadable(format!("member {number} belongs to group {id}, which does not exist"));
    let spec = MemberSpec {
        session: text(row, 2)?,
        opened: revision(row, 3)?,
        owner: text(row, 4)?,
        metadata: decode_metadata(row.text(5)?).map_err(unreadable)?,
        declared: super::number(row, 7)?,
    };
    let assignment: Option<Text> = if row.is_null(6) { None } else { Some(text(row, 6)?) };
    let group = groups.get_mut(&id).ok_or_else(stray)?;
    group.members.insert(number, Member { number, spec: Arc::new(spec), assignment });
    Ok(())
}
