//! Formats groups as text.

use tenure_proto::v1::{GetGroupResponse, Group, GroupEvent, GroupEventType, GroupMember, ListGroupsResponse};

use super::Shown;
use super::locks::{metadata, or_dash};
use super::style::{Tint, escape};
use super::table::{Table, column, ids, numbers, tinted, truncate};
use super::terms::end_reason;

/// The maximum width of a config in a list.
const CONFIG_WIDTH: usize = 41;

/// Describes a member: the owner label, and the session.
fn describe_member(member: &GroupMember) -> String {
    let session = escape(&member.session_id);
    match member.owner.as_str() {
        "" => format!("member {} (session {session})", member.number),
        owner => format!("member {}, {} (session {session})", member.number, escape(owner)),
    }
}

fn leader(group: &Group) -> String {
    match &group.leader {
        None => "-".to_owned(),
        Some(leader) if leader.owner.is_empty() => escape(&leader.session_id),
        Some(leader) => escape(&leader.owner),
    }
}

/// Whether the assignments match the current members and config.
fn assigned(group: &Group) -> &'static str {
    match (group.members.is_empty(), group.assignments_current, group.assignments_revision) {
        (true, ..) => "-",
        (false, true, _) => "current",
        (false, false, 0) => "none",
        (false, false, _) => "old",
    }
}

/// A list of groups.
pub fn groups(response: &ListGroupsResponse) -> Shown {
    if response.groups.is_empty() {
        return Shown::nothing("no group has members or a config");
    }
    let mut table = Table::new([
        column("NAME", 1),
        numbers("MEMBERS", 2),
        column("LEADER", 2),
        column("ASSIGNMENTS", 3),
        column("CONFIG", 4),
    ]);
    for group in &response.groups {
        let assigned = assigned(group);
        let tint = if assigned == "old" { Tint::Notice } else { Tint::Plain };
        table.row([
            escape(&group.name).into(),
            group.members.len().to_string().into(),
            leader(group).into(),
            tinted(assigned, tint),
            config(group).into(),
        ]);
    }
    table.finish().into()
}

/// The config on one line, truncated if it is long.
fn config(group: &Group) -> String {
    group.config.as_ref().map_or_else(|| "-".to_owned(), |config| truncate(&escape(config), CONFIG_WIDTH))
}

/// One group with its members.
pub fn group(response: &GetGroupResponse) -> String {
    let Some(group) = &response.group else { return "an empty group".to_owned() };
    let mut text = describe_group(group);
    text.push_str(&format!("\nrevision {}", response.revision));
    if let Some(config) = &group.config {
        text.push_str(&format!("\nconfig of revision {}: {}", group.config_revision, escape(config)));
    }
    if group.members.is_empty() {
        return text;
    }
    let mut table = Table::new([
        numbers("MEMBER", 1),
        column("ROLE", 2),
        column("OWNER", 1),
        ids("SESSION", 4),
        column("ASSIGNMENT", 2),
        column("METADATA", 5),
    ]);
    for member in &group.members {
        let leads = group.leader.as_ref().is_some_and(|leader| leader.member == member.number);
        table.row([
            member.number.to_string().into(),
            if leads { tinted("leads", Tint::Good) } else { "-".into() },
            or_dash(&member.owner).into(),
            escape(&member.session_id).into(),
            member.assignment.as_deref().map_or_else(|| "-".to_owned(), escape).into(),
            metadata(&member.metadata).into(),
        ]);
    }
    format!("{text}\n\n{}", table.finish())
}

/// The state of a group, in one line.
pub fn describe_group(group: &Group) -> String {
    let name = escape(&group.name);
    let members = match group.members.len() {
        0 => return format!("{name}: no members"),
        1 => "1 member".to_owned(),
        count => format!("{count} members"),
    };
    let token = group.leader.as_ref().map_or(0, |leader| leader.token);
    let assigned = match assigned(group) {
        "current" => "assignments are current",
        "old" => "assignments are out of date",
        _ => "no assignments yet",
    };
    format!("{name}: {members}, {} leads with token {token}; {assigned}", leader(group))
}

/// Describes an event of a group.
pub fn describe_group_event(event: &GroupEvent) -> String {
    let who = event.member.as_ref().map(describe_member).unwrap_or_default();
    let lead = match event.leader {
        0 => "; no leader".to_owned(),
        // A leader elected by this event has its revision as the token.
        leader if event.token == event.revision => format!("; member {leader} leads, token {}", event.token),
        _ => String::new(),
    };
    match event.r#type() {
        GroupEventType::Joined => format!("{who} joined{lead}"),
        GroupEventType::Left => format!("{}: {who} left{lead}", end_reason(event.end_reason())),
        GroupEventType::Configured => match &event.config {
            Some(config) => format!("config set: {}", escape(config)),
            None => "config cleared".to_owned(),
        },
        GroupEventType::Assigned => format!(
            "member {} assigned, for membership {} and config {}",
            event.leader, event.membership_revision, event.config_revision
        ),
        GroupEventType::Unspecified => "unknown event".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::{EndReason, GroupLeader};

    use super::*;

    fn member(number: u64, assignment: Option<&str>) -> GroupMember {
        GroupMember {
            number,
            session_id: format!("s{number}"),
            owner: format!("host-{number}"),
            assignment: assignment.map(str::to_owned),
            ..GroupMember::default()
        }
    }

    fn throughput() -> Group {
        Group {
            name: "throughput".into(),
            leader: Some(GroupLeader { member: 7, token: 9, session_id: "s7".into(), owner: "host-7".into() }),
            members: vec![member(7, Some("500")), member(8, None)],
            config: Some("1000".into()),
            config_revision: 5,
            assignments_revision: 8,
            ..Group::default()
        }
    }

    fn listed(all: Vec<Group>) -> String {
        groups(&ListGroupsResponse { groups: all, ..Default::default() }).text.unwrap()
    }

    #[test]
    fn a_list_shows_leader_config_and_whether_assignments_are_current() {
        let current = Group { assignments_current: true, ..throughput() };
        let text = listed(vec![throughput(), current]);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["throughput", "2", "host-7", "old", "1000"]);
        assert_eq!(rows[2][3], "current");
        let none = Shown::nothing("no group has members or a config");
        assert_eq!(groups(&ListGroupsResponse::default()), none);
    }

    #[test]
    fn a_group_shows_its_members_in_order() {
        let text = group(&GetGroupResponse { group: Some(throughput()), revision: 11 });
        assert!(
            text.starts_with("throughput: 2 members, host-7 leads with token 9; assignments are out of date"),
            "{text}"
        );
        assert!(text.contains("\nconfig of revision 5: 1000\n"), "{text}");
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[rows.len() - 2], ["7", "leads", "host-7", "s7", "500", "-"]);
        assert_eq!(rows[rows.len() - 1], ["8", "-", "host-8", "s8", "-", "-"]);
        let empty = Group { name: "none".into(), ..Group::default() };
        assert_eq!(group(&GetGroupResponse { group: Some(empty), revision: 3 }), "none: no members\nrevision 3");
    }

    #[test]
    fn event_shows_the_leader_after_it() {
        let left = GroupEvent {
            revision: 12,
            r#type: GroupEventType::Left.into(),
            member: Some(member(7, None)),
            end_reason: EndReason::Expired.into(),
            leader: 8,
            token: 12,
            ..GroupEvent::default()
        };
        assert_eq!(
            describe_group_event(&left),
            "expired: member 7, host-7 (session s7) left; member 8 leads, token 12"
        );
        let follower = GroupEvent { token: 9, leader: 7, ..left.clone() };
        assert_eq!(describe_group_event(&follower), "expired: member 7, host-7 (session s7) left");
        let last = GroupEvent { token: 0, leader: 0, ..left };
        assert!(describe_group_event(&last).ends_with("left; no leader"));
        let cleared = GroupEvent { r#type: GroupEventType::Configured.into(), ..GroupEvent::default() };
        assert_eq!(describe_group_event(&cleared), "config cleared");
    }

    #[test]
    fn a_long_config_is_cut_in_a_list() {
        let long = Group { config: Some("x\n".repeat(100)), ..throughput() };
        let text = listed(vec![long]);
        assert!(text.ends_with("x\\nx…"), "{text}");
    }
}
