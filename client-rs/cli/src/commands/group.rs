//! `group`: reads groups, sets their configs, and watches their events.

use tenure_proto::v1::{
    ConfigureGroupRequest, ConfigureGroupResponse, GetGroupRequest, Group, GroupEvent, ListGroupsRequest,
    ListGroupsResponse, WatchRequest, WatchResponse, watch_response::Kind,
};

use super::group_join::join;
use super::read::PAGE;
use super::watch::follow;
use crate::Context;
use crate::args::GroupCommand;
use crate::exit::{self, Failure};
use crate::output::{self, escape};
use crate::rpc::{Repeat, all_pages};

pub async fn group(context: &Context, command: GroupCommand) -> Result<u8, Failure> {
    match command {
        GroupCommand::Ls { prefix } => ls(context, prefix).await,
        GroupCommand::Get { name } => get(context, name).await,
        GroupCommand::Set { name, value, expect } => {
            let value = if value == "-" { from_stdin()? } else { value };
            configure(context, name, Some(value), expect).await
        }
        GroupCommand::Clear { name, expect } => configure(context, name, None, expect).await,
        GroupCommand::Join(args) => join(context, args).await,
        GroupCommand::Watch { names, after_revision } => {
            let namespace = context.namespace();
            let request = WatchRequest { namespace, groups: names, after_revision, ..WatchRequest::default() };
            follow(context, request, lines).await
        }
    }
}

async fn ls(context: &Context, prefix: String) -> Result<u8, Failure> {
    let (namespace, page_token) = (context.namespace(), String::new());
    let request = ListGroupsRequest { namespace, prefix, page_size: PAGE, page_token };
    let all: ListGroupsResponse = all_pages!(context.rpc, request, groups);
    context.output.message(&all, output::groups)
}

async fn get(context: &Context, group: String) -> Result<u8, Failure> {
    let request = GetGroupRequest { namespace: context.namespace(), group };
    let response = context.rpc.call(Repeat::Safe, &request).await?;
    context.output.message(&response, output::group)
}

fn from_stdin() -> Result<String, Failure> {
    std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::new(exit::USAGE, format!("cannot read the standard input: {error}")))
}

async fn configure(
    context: &Context,
    group: String,
    config: Option<String>,
    expected_revision: Option<u64>,
) -> Result<u8, Failure> {
    // A repeated call would see the config that the first one has set, and conflict with the expected revision.
    let repeat = if expected_revision.is_none() { Repeat::Safe } else { Repeat::Unsafe };
    let request = ConfigureGroupRequest { namespace: context.namespace(), group, config, expected_revision };
    let response = context.rpc.call(repeat, &request).await?;
    context.output.message(&response, |response: &ConfigureGroupResponse| match response.config_revision {
        0 => format!("{}: no config", escape(&request.group)),
        revision => format!("{}: config of revision {revision}", escape(&request.group)),
    })
}

/// A message as lines for people. Progress prints nothing, and a state that follows from events needs no line of its
/// own.
fn lines(response: &WatchResponse) -> Vec<String> {
    let now = |group: &Group| format!("rev {}  {}", response.revision, output::describe_group(group));
    match &response.kind {
        Some(Kind::Snapshot(snapshot)) => snapshot.groups.iter().map(now).collect(),
        Some(Kind::Events(events)) if events.group_events.is_empty() => events.groups.iter().map(now).collect(),
        Some(Kind::Events(events)) => events.group_events.iter().map(event_line).collect(),
        Some(Kind::HistoryGone(gone)) => vec![output::history_gone(gone)],
        Some(Kind::Progress(_)) | None => Vec::new(),
    }
}

fn event_line(event: &GroupEvent) -> String {
    let (time, name) = (output::event_time(event.time), escape(&event.group));
    format!("{time}rev {}  {name}  {}", event.revision, output::describe_group_event(event))
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::{Events, GroupEventType, Snapshot};

    use super::*;

    fn printed(kind: Kind) -> Vec<String> {
        lines(&WatchResponse { revision: 45, kind: Some(kind) })
    }

    #[test]
    fn a_snapshot_and_a_state_of_its_own_say_how_things_are() {
        let groups = vec![Group { name: "g".into(), ..Group::default() }];
        let snapshot = Snapshot { groups: groups.clone(), ..Snapshot::default() };
        assert_eq!(printed(Kind::Snapshot(snapshot)), ["rev 45  g: no members"]);
        assert_eq!(printed(Kind::Events(Events { groups, ..Events::default() })), ["rev 45  g: no members"]);
    }

    #[test]
    fn an_event_says_when_and_what() {
        let event = GroupEvent {
            revision: 44,
            group: "g".into(),
            r#type: GroupEventType::Configured.into(),
            config: Some("1000".into()),
            time: Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 5_000_000 }),
            ..GroupEvent::default()
        };
        let groups = vec![Group { name: "g".into(), ..Group::default() }];
        let events = Events { group_events: vec![event], groups, ..Events::default() };
        assert_eq!(printed(Kind::Events(events)), ["2023-11-14T22:13:20.005Z  rev 44  g  config set: 1000"]);
    }
}
