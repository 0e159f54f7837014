//! Tests of a total that is shared among the live copies of a program: the share of each, as copies start and are
//! killed; and a leader that was frozen and resumes late.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tenure_e2e::{Calls, Instance, Store, on_every_store, rejection};
use tenure_harness::{built, wait_until};
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::{
    AssignGroupRequest, ConfigureGroupRequest, GetGroupRequest, Group, GroupEvent, GroupEventType, WatchRequest,
};
use tonic::{Code, Streaming};

on_every_store!(
    total_is_divided_among_the_live_members,
    shares_add_up_to_the_total,
    assignment_of_a_former_leader_is_rejected
);

const GROUP: &str = "throughput";
const MEMBER: &str = env!("CARGO_BIN_EXE_member");

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// The events of the clients c1 to c5.
#[derive(Clone, Copy, Debug)]
enum Step {
    Up(usize),
    Killed(usize),
    Total(u64),
}

use Step::{Killed, Total, Up};

/// Each step, with the share of each client after it: `None` if it does not run. The first running client leads.
const TABLE: [(Step, [Option<u64>; 5]); 8] = [
    (Up(1), [Some(1000), None, None, None, None]),
    (Up(2), [Some(500), Some(500), None, None, None]),
    (Up(3), [Some(333), Some(333), Some(333), None, None]),
    (Up(4), [Some(250), Some(250), Some(250), Some(250), None]),
    (Killed(1), [None, Some(333), Some(333), Some(333), None]),
    (Killed(4), [None, Some(500), Some(500), None, None]),
    (Total(500), [None, Some(250), Some(250), None, None]),
    (Up(5), [None, Some(166), Some(166), None, Some(166)]),
];

/// The running clients, and the total.
struct Clients<'a> {
    calls: &'a Calls,
    url: String,
    mode: &'static [&'static str],
    total: u64,
    running: [Option<Instance>; 5],
}

impl<'a> Clients<'a> {
    async fn new(calls: &'a Calls, url: String, mode: &'static [&'static str]) -> Self {
        let mut clients = Self { calls, url, mode, total: 0, running: Default::default() };
        clients.apply(Total(1000)).await;
        clients
    }

    async fn apply(&mut self, step: Step) {
        match step {
            Up(number) => {
                let program = built("examples/group_throughput").expect("run `cargo build --examples`");
                let name = format!("c{number}");
                let arguments = [&[name.as_str()], self.mode].concat();
                self.running[number - 1] = Some(Instance::start(&program, &arguments, &self.url).unwrap());
            }
            Killed(number) => {
                let client = self.running[number - 1].take().unwrap();
                client.signal(Signal::KILL).unwrap();
            }
            Total(total) => {
                configure(self.calls, &total.to_string()).await;
                self.total = total;
            }
        }
    }

    fn count(&self) -> usize {
        self.running.iter().flatten().count()
    }

    /// The line that a client with this share prints.
    fn report(&self, share: u64, leads: bool) -> String {
        let role = if leads { "leader" } else { "member" };
        format!("share={share} of={} members={} {role}", self.total, self.count())
    }

    /// The shares that the clients report for the current group, once all of them do.
    async fn shares(&self) -> Option<Vec<u64>> {
        let end = format!(" of={} members={} ", self.total, self.count());
        let share = |client: &Instance| {
            let last = client.last_line();
            last.contains(&end).then(|| last.split([' ', '=']).nth(1)?.parse().ok())?
        };
        self.running.iter().flatten().map(share).collect()
    }
}

/// Formats a step as a row of the table, with the leader in bold.
fn row(step: Step, shares: [Option<u64>; 5], leader: Option<usize>) -> String {
    let cell = |(number, share): (usize, Option<u64>)| match share {
        None => " ".to_owned(),
        Some(share) if Some(number) == leader => format!("**{share}**"),
        Some(share) => share.to_string(),
    };
    let cells: Vec<String> = shares.into_iter().enumerate().map(cell).collect();
    format!("| {step:?} | {} |", cells.join(" | "))
}

async fn configure(calls: &Calls, config: &str) {
    let request = ConfigureGroupRequest {
        group: GROUP.to_owned(),
        config: Some(config.to_owned()),
        ..ConfigureGroupRequest::default()
    };
    calls.groups.clone().configure_group(request).await.unwrap();
}

async fn get(calls: &Calls) -> Group {
    let request = GetGroupRequest { group: GROUP.to_owned(), ..GetGroupRequest::default() };
    calls.groups.clone().get_group(request).await.unwrap().into_inner().group.unwrap()
}

async fn total_is_divided_among_the_live_members(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let mut clients = Clients::new(&calls, server.url(), &[]).await;
    let mut tokens = Vec::new();
    for (step, shares) in TABLE {
        clients.apply(step).await;
        let leader = shares.iter().position(Option::is_some);
        for (number, share) in shares.iter().enumerate() {
            if let (Some(client), Some(share)) = (&clients.running[number], share) {
                client.wait_for_last_line(&clients.report(*share, Some(number) == leader)).await;
            }
        }
        // The server reports the same members, in the order of joining.
        let group = get(&calls).await;
        let reported: Vec<(String, String)> = group
            .members
            .iter()
            .map(|member| (member.owner.clone(), member.assignment.clone().unwrap_or_default()))
            .collect();
        let expected: Vec<(String, String)> =
            (1..).zip(shares).filter_map(|(number, share)| Some((format!("c{number}"), share?.to_string()))).collect();
        assert_eq!(reported, expected, "after {step:?}");
        let leading = group.leader.unwrap();
        assert_eq!(leading.owner, format!("c{}", leader.unwrap() + 1), "after {step:?}");
        tokens.push(leading.token);
        println!("{}", row(step, shares, leader));
    }
    assert!(tokens.is_sorted(), "tokens rise: {tokens:?}");
    tokens.dedup();
    assert_eq!(tokens.len(), 2, "c1 led, and then c2");
}

async fn shares_add_up_to_the_total(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let mut clients = Clients::new(&calls, server.url(), &["exact"]).await;
    for (step, _) in TABLE {
        clients.apply(step).await;
        let what = format!("shares of {} for {} clients after {step:?}", clients.total, clients.count());
        wait_until(PATIENCE, &what, async || clients.shares().await.is_some()).await;
        let shares = clients.shares().await.unwrap();
        assert_eq!(shares.iter().sum::<u64>(), clients.total, "{step:?}: {shares:?}");
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most - least <= 1, "{step:?}: {shares:?}");
        assert!(shares.is_sorted_by(|one, next| one >= next), "{step:?}: older members have larger shares: {shares:?}");
        println!("{step:?}: {shares:?}");
    }
}

/// All events of the group up to this revision.
async fn events_until(watch: &mut Streaming<tenure_proto::v1::WatchResponse>, revision: u64) -> Vec<GroupEvent> {
    let mut events = Vec::new();
    let reading = async {
        loop {
            let response = watch.message().await.unwrap().unwrap();
            if let Some(Kind::Events(batch)) = response.kind {
                events.extend(batch.group_events);
            }
            if response.revision >= revision {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap();
    events
}

async fn assignment_of_a_former_leader_is_rejected(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    configure(&calls, "1000").await;
    let request = WatchRequest { groups: vec![GROUP.to_owned()], ..WatchRequest::default() };
    let mut watch = calls.watches.clone().watch(request).await.unwrap().into_inner();
    let url = server.url();
    let arguments = [url.as_str(), GROUP, "2000"];
    let mut first = Instance::start(Path::new(MEMBER), &arguments, &url).unwrap();
    first.wait_for_last_line("share 1000 leader").await;
    let second = Instance::start(Path::new(MEMBER), &arguments, &url).unwrap();
    second.wait_for_last_line("share 500 member").await;
    let deposed = get(&calls).await;
    let late = deposed.leader.clone().unwrap();

    // Frozen for longer than its TTL, with a pending assignment that it resumes on waking.
    first.freeze().await.unwrap();
    first.send("assign").unwrap();
    second.wait_for_last_line("share 1000 leader").await;
    let before = get(&calls).await;
    first.signal(Signal::CONT).unwrap();
    first.wait_for_line("refused NOT_LEADER").await;

    // It rejoins as a new member, behind the current leader.
    first.wait_for_line("share 500 member").await;
    second.wait_for_last_line("share 500 leader").await;
    let after = get(&calls).await;
    assert_eq!(after.leader, before.leader);
    assert!(after.members.last().unwrap().number > before.membership_revision);

    // A plain call is rejected likewise, under the old session, and under the new one with the old token.
    let own: Vec<&str> = after.members.iter().map(|member| member.session_id.as_str()).collect();
    for session in [late.session_id.as_str(), own[1]] {
        let request = AssignGroupRequest {
            group: GROUP.to_owned(),
            session_id: session.to_owned(),
            token: late.token,
            membership_revision: after.membership_revision,
            config_revision: after.config_revision,
            assignments: after.members.iter().map(|member| (member.number, "late".to_owned())).collect(),
            ..AssignGroupRequest::default()
        };
        let rejected = rejection(calls.groups.clone().assign_group(request).await);
        assert_eq!((rejected.code, rejected.reason.as_str()), (Code::FailedPrecondition, "NOT_LEADER"));
        assert_eq!(rejected.fact("leader"), after.leader.as_ref().unwrap().session_id);
    }
    assert_eq!(get(&calls).await, after, "rejected assignments have no effect");

    // No assignment in the log was made by a non-leader.
    let (mut token, mut assigned) = (0, 0);
    for event in events_until(&mut watch, after.assignments_revision).await {
        match event.r#type() {
            GroupEventType::Joined | GroupEventType::Left => token = event.token,
            GroupEventType::Assigned => {
                assert_eq!(event.token, token);
                assigned += 1;
            }
            _ => {}
        }
    }
    assert_eq!(assigned, 4, "alone, together, alone, together");
}
