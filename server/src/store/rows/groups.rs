//! Groups and their members as rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tenure_core::{Assigned, Basis, Config, Group, Lead, Member, MemberSpec, Revision, Text};

use super::super::codec::{CodecError, decode_metadata, encode_metadata};
use super::super::connection::{Failure, Row};
use super::{chunks, number, text, unreadable};

/// A row of `member_groups`.
#[derive(Serialize)]
struct GroupRow<'a> {
    id: u64,
    name: &'a str,
    membership: u64,
    leader: Option<u64>,
    token: Option<u64>,
    config: Option<&'a str>,
    config_revision: Option<u64>,
    assigned: Option<u64>,
    assigned_membership: Option<u64>,
    assigned_config: Option<u64>,
}

/// A row of `group_members`.
#[derive(Serialize)]
struct MemberRow<'a> {
    group_id: u64,
    number: u64,
    session: &'a str,
    opened: u64,
    owner: &'a str,
    metadata: String,
    assignment: Option<&'a str>,
}

/// Groups as JSON arrays, without their members.
pub(in crate::store) fn group_chunks(groups: &[Arc<Group>]) -> Result<Vec<String>, CodecError> {
    let rows: Vec<GroupRow<'_>> = groups.iter().map(|group| group_row(group)).collect();
    chunks(&rows)
}

fn group_row(group: &Group) -> GroupRow<'_> {
    let basis = group.assigned.map(|assigned| assigned.basis);
    GroupRow {
        id: group.id.0,
        name: &group.name,
        membership: group.membership.0,
        leader: group.lead.map(|lead| lead.member.0),
        token: group.lead.map(|lead| lead.token.0),
        config: group.config.as_ref().map(|config| &*config.value),
        config_revision: group.config.as_ref().map(|config| config.revision.0),
        assigned: group.assigned.map(|assigned| assigned.revision.0),
        assigned_membership: basis.map(|basis| basis.membership.0),
        assigned_config: basis.map(|basis| basis.config.0),
    }
}

/// The members of groups as JSON arrays.
pub(in crate::store) fn member_chunks(groups: &[Arc<Group>]) -> Result<Vec<String>, CodecError> {
    let members = groups.iter().flat_map(|group| group.members.values().map(|member| (group.id, member)));
    let rows: Vec<MemberRow<'_>> =
        members.map(|(group_id, member)| member_row(group_id, member)).collect::<Result<_, _>>()?;
    chunks(&rows)
}

fn member_row(group_id: Revision, member: &Member) -> Result<MemberRow<'_>, CodecError> {
    Ok(MemberRow {
        group_id: group_id.0,
        number: member.number.0,
        session: &member.spec.session,
        opened: member.spec.opened.0,
        owner: &member.spec.owner,
        metadata: encode_metadata(&member.spec.metadata)?,
        assignment: member.assignment.as_deref(),
    })
}

fn revision(row: &Row, column: usize) -> Result<Revision, Failure> {
    number(row, column).map(Revision)
}

/// A group from the columns of `load_groups`, without its members.
pub(in crate::store) fn group(row: &Row) -> Result<Group, Failure> {
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
pub(in crate::store) fn add_member(groups: &mut BTreeMap<Revision, Group>, row: &Row) -> Result<(), Failure> {
    let (id, number) = (revision(row, 0)?, revision(row, 1)?);
    let stray = || Failure::Refused(format!("member {number} belongs to group {id}, which is not there"));
    let spec = MemberSpec {
        session: text(row, 2)?,
        opened: revision(row, 3)?,
        owner: text(row, 4)?,
        metadata: decode_metadata(row.text(5)?).map_err(unreadable)?,
    };
    let assignment: Option<Text> = if row.is_null(6) { None } else { Some(text(row, 6)?) };
    let group = groups.get_mut(&id).ok_or_else(stray)?;
    group.members.insert(number, Member { number, spec: Arc::new(spec), assignment });
    Ok(())
}
