//! Who may do what: the policy, on every call, and what is somebody else's. Over gRPC, on a database in memory.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

#[path = "access/calls.rs"]
mod calls;
#[path = "access/office.rs"]
mod office;

use std::collections::BTreeSet;

use calls::{all, commands, second};
use office::{Office, Who, fact, is_forbidden, options, within};
use prost::Message;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::*;
use tenure_server::access::{Access, AuditOptions, CredentialOptions, Verb};
use tenure_server::listen::Peer;
use tenure_server::server::Server;
use tenure_server::store::MemoryDatabase;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

const VERBS: [&str; 4] = ["acquire", "read", "watch", "operate"];

/// A role for each verb, on these names; each granted to the token of that name. `ann` has all, `none` has none.
fn policy(names: &str) -> String {
    let mut policy = String::new();
    for verb in VERBS {
        policy += &format!("[[roles.{verb}]]\nverbs = [\"{verb}\"]\n{names}\n");
        policy += &format!("[[grants]]\nidentity = \"token:{verb}\"\nroles = [\"{verb}\"]\n");
    }
    policy + "[[grants]]\nidentity = \"token:ann\"\nroles = [\"acquire\", \"read\", \"watch\", \"operate\"]\n"
}

async fn acquire(who: &Who, name: &str, session: &str) -> Result<u64, Status> {
    let request = AcquireRequest {
        names: vec![name.to_owned()],
        session_id: session.to_owned(),
        ttl: second(),
        ..AcquireRequest::default()
    };
    let answer = within(LockServiceClient::new(who.channel.clone()).acquire(who.ask(request))).await?;
    Ok(answer.into_inner().token)
}

async fn revision(who: &Who) -> u64 {
    let mut locks = LockServiceClient::new(who.channel.clone());
    within(locks.list_locks(who.ask(ListLocksRequest::default()))).await.unwrap().into_inner().revision
}

#[tokio::test]
async fn each_call_takes_its_verb() {
    let office = Office::open(&["acquire", "read", "watch", "operate", "ann", "none"], &policy("")).await;
    let ann = office.caller("ann").await;
    for verb in VERBS.iter().chain(&["none"]) {
        let who = office.caller(verb).await;
        for call in all() {
            let is_enough = call.verb.is_empty() || call.verb.split(" or ").any(|wanted| wanted == *verb);
            let before = revision(&ann).await;
            let answer = within((call.make)(who.clone(), "job".into(), format!("of-{verb}"))).await;
            assert_eq!(is_forbidden(&answer), !is_enough, "{} by {verb}: {answer:?}", call.name);
            if let (false, Err(refused)) = (is_enough, &answer) {
                assert!(call.verb.split(" or ").any(|wanted| wanted == fact(refused, "verb")), "{}", call.name);
                assert_eq!(revision(&ann).await, before, "{} has changed something", call.name);
            }
        }
    }
}

/// What is asked for on a stream: whether it was forbidden.
async fn forbidden(who: &Who, kind: Kind) -> bool {
    let request = StreamRequest { commands: vec![Command { id: 1, kind: Some(kind) }] };
    let (requests, outgoing) = tokio::sync::mpsc::channel(1);
    requests.send(request).await.unwrap();
    let mut client = ClientServiceClient::new(who.channel.clone());
    let stream = client.stream(who.ask(ReceiverStream::new(outgoing)));
    let mut responses = within(stream).await.unwrap().into_inner();
    loop {
        let response = within(responses.message()).await.unwrap().unwrap();
        if let Some(answer) = response.answers.into_iter().find(|answer| answer.id == 1) {
            return match answer.kind.unwrap() {
                Answered::Refusal(refusal) if refusal.reason == "PERMISSION_DENIED" => {
                    assert_eq!((refusal.code, &*refusal.metadata["rule"]), (Code::PermissionDenied as i32, "policy"));
                    true
                }
                _ => false,
            };
        }
    }
}

#[tokio::test]
async fn each_command_of_a_stream_takes_its_verb() {
    let office = Office::open(&["acquire", "read", "watch", "operate", "none"], &policy("")).await;
    for verb in VERBS.iter().chain(&["none"]) {
        let who = office.caller(verb).await;
        for (wanted, kind) in commands("job", &format!("of-{verb}")) {
            let is_enough = wanted.is_empty() || wanted.split(" or ").any(|wanted| wanted == *verb);
            assert_eq!(forbidden(&who, kind.clone()).await, !is_enough, "{kind:?} by {verb}");
        }
    }
}

/// So that whoever adds a call sees to it that it is tried here.
#[test]
fn every_call_of_the_contract_is_tried() {
    let contract = prost_types::FileDescriptorSet::decode(tenure_proto::FILE_DESCRIPTOR_SET).unwrap();
    let services = contract.file.iter().filter(|file| file.package() == "tenure.v1").flat_map(|file| &file.service);
    let methods: BTreeSet<String> = services
        .flat_map(|service| {
            service.method.iter().map(|method| format!("tenure.v1.{}/{}", service.name(), method.name()))
        })
        .collect();
    let tried = all().into_iter().map(|call| call.name.to_owned());
    let streams = ["tenure.v1.ClientService/Stream", "tenure.v1.SessionService/KeepAlive"].map(str::to_owned);
    assert_eq!(tried.chain(streams).collect::<BTreeSet<_>>(), methods);
}

#[tokio::test]
async fn a_name_stands_for_whole_parts_only() {
    let office = Office::open(&["acquire", "read", "watch", "operate", "ann"], &policy("names = [\"team-a\"]")).await;
    let names_a_lock = |call: &calls::Call| !call.name.contains("/List") && !call.name.contains("Session");
    for call in all().into_iter().filter(names_a_lock).filter(|call| call.name != "tenure.v1.SessionService/Renew") {
        let who = office.caller(call.verb).await;
        for (name, is_theirs) in
            [("team-a", true), ("team-a/x", true), ("team-ab", false), ("team-ab/x", false), ("team", false)]
        {
            let answer = within((call.make)(who.clone(), name.into(), "s".into())).await;
            assert_eq!(is_forbidden(&answer), !is_theirs, "{} on {name}: {answer:?}", call.name);
        }
    }
    // Every name of a set.
    let ann = office.caller("ann").await;
    let both = AcquireRequest {
        names: vec!["team-a/x".into(), "team-b/x".into()],
        session_id: "ann".into(),
        ttl: second(),
        ..AcquireRequest::default()
    };
    let refused = within(LockServiceClient::new(ann.channel.clone()).acquire(ann.ask(both))).await.unwrap_err();
    assert_eq!((fact(&refused, "rule"), fact(&refused, "name")), ("policy".into(), "team-b/x".into()));
    for prefix in ["", "team-a", "team-", "team-ab/"] {
        let watch = WatchRequest { prefixes: vec![prefix.into()], ..WatchRequest::default() };
        let refused = within(WatchServiceClient::new(ann.channel.clone()).watch(ann.ask(watch))).await.unwrap_err();
        assert_eq!(fact(&refused, "name"), format!("{prefix}*"));
    }
    let everything = WatchServiceClient::new(ann.channel.clone()).watch(ann.ask(WatchRequest::default())).await;
    assert_eq!(fact(&everything.unwrap_err(), "name"), "*", "no name at all is every name");
}

#[tokio::test]
async fn one_namespace_is_not_another() {
    let office = Office::open(&["ann"], &policy("namespaces = [\"blue\"]")).await;
    let ann = office.caller("ann").await;
    for call in all().into_iter().filter(|call| !call.verb.is_empty()) {
        let answer = within((call.make)(ann.clone(), "job".into(), "s".into())).await;
        assert!(is_forbidden(&answer), "{} in the default namespace: {answer:?}", call.name);
    }
    let there = GetLockRequest { namespace: "blue".into(), name: "job".into() };
    within(LockServiceClient::new(ann.channel.clone()).get_lock(ann.ask(there))).await.unwrap();
}

const TEAMS: &str = r#"
    [[roles.a]]
    verbs = ["acquire", "read", "watch", "operate"]
    names = ["team-a"]
    [[roles.b]]
    verbs = ["acquire", "read", "watch", "operate"]
    names = ["team-b"]
    [[roles.all]]
    verbs = ["read"]
    [[grants]]
    identity = "token:ann"
    roles = ["a"]
    [[grants]]
    identity = "token:bob"
    roles = ["b"]
    [[grants]]
    identity = "token:reader"
    roles = ["all"]
"#;

#[tokio::test]
async fn lists_leave_out_what_is_not_theirs() {
    let office = Office::open(&["ann", "bob", "reader"], TEAMS).await;
    let (ann, bob, reader) = (office.caller("ann").await, office.caller("bob").await, office.caller("reader").await);
    acquire(&ann, "team-a/x", "ann").await.unwrap();
    acquire(&bob, "team-b/x", "bob").await.unwrap();
    for (who, session, group) in [(&ann, "ann", "team-a/g"), (&bob, "bob", "team-b/g")] {
        let (group, session_id) = (group.to_owned(), session.to_owned());
        let join = JoinGroupRequest { group, session_id, ..JoinGroupRequest::default() };
        within(GroupServiceClient::new(who.channel.clone()).join_group(who.ask(join))).await.unwrap();
    }
    for (who, seen) in [(&ann, &["a"][..]), (&bob, &["b"]), (&reader, &["a", "b"])] {
        let mut locks = LockServiceClient::new(who.channel.clone());
        let listed = within(locks.list_locks(who.ask(ListLocksRequest::default()))).await.unwrap().into_inner();
        assert!(listed.locks.iter().map(|lock| &*lock.name).eq(seen.iter().map(|team| format!("team-{team}/x"))));
        let mut groups = GroupServiceClient::new(who.channel.clone());
        let listed = within(groups.list_groups(who.ask(ListGroupsRequest::default()))).await.unwrap().into_inner();
        assert!(listed.groups.iter().map(|group| &*group.name).eq(seen.iter().map(|team| format!("team-{team}/g"))));
        let mut sessions = SessionServiceClient::new(who.channel.clone());
        let listed =
            within(sessions.list_sessions(who.ask(ListSessionsRequest::default()))).await.unwrap().into_inner();
        assert_eq!(listed.sessions.len(), seen.len());
    }
    // Pages are full of what is theirs.
    let page = ListLocksRequest { page_size: 1, ..ListLocksRequest::default() };
    let page =
        within(LockServiceClient::new(bob.channel.clone()).list_locks(bob.ask(page))).await.unwrap().into_inner();
    assert_eq!((page.locks[0].name.as_str(), page.next_page_token.as_str()), ("team-b/x", ""));
}

#[tokio::test]
async fn nobody_uses_the_session_of_somebody_else() {
    let bob_may = "[[grants]]\nidentity = \"token:bob\"\nroles = [\"acquire\"]\n";
    let office = Office::open(&["ann", "bob"], &(policy("") + bob_may)).await;
    let (ann, bob) = (office.caller("ann").await, office.caller("bob").await);
    let token = acquire(&ann, "job", "ann").await.unwrap();
    let before = revision(&ann).await;
    for call in all().into_iter().filter(|call| ["acquire", "", "acquire or read"].contains(&call.verb)) {
        if call.name.ends_with("ListSessions") {
            continue;
        }
        let refused = within((call.make)(bob.clone(), "job".into(), "ann".into())).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{}: {refused:?}", call.name);
        assert_eq!((fact(&refused, "rule"), fact(&refused, "session_id")), ("session-owner".into(), "ann".into()));
    }
    for (wanted, kind) in commands("job", "ann") {
        if !wanted.contains("acquire") && !wanted.is_empty() {
            continue;
        }
        assert!(is_of_another(&bob, kind.clone()).await, "{kind:?}");
    }
    assert_eq!(revision(&ann).await, before, "nothing has changed");
    assert_eq!(acquire(&ann, "job", "ann").await.unwrap(), token, "it is still hers");
}

/// Whether a command on a stream is refused because of whose session it is about, or has no session there at all.
async fn is_of_another(who: &Who, kind: Kind) -> bool {
    let keeps = matches!(kind, Kind::KeepAlive(_));
    let attached_only = matches!(&kind, Kind::Acquire(request) if request.ttl.is_none());
    let request = StreamRequest { commands: vec![Command { id: 1, kind: Some(kind) }] };
    let (requests, outgoing) = tokio::sync::mpsc::channel(1);
    requests.send(request).await.unwrap();
    let mut client = ClientServiceClient::new(who.channel.clone());
    let stream = client.stream(who.ask(ReceiverStream::new(outgoing)));
    let mut responses = within(stream).await.unwrap().into_inner();
    loop {
        let response = within(responses.message()).await.unwrap().unwrap();
        let Some(answer) = response.answers.into_iter().find(|answer| answer.id == 1) else { continue };
        return match answer.kind.unwrap() {
            Answered::Refusal(refusal) if attached_only => refusal.reason == "NOT_ATTACHED",
            Answered::Refusal(refusal) => {
                refusal.reason == "PERMISSION_DENIED" && refusal.metadata["rule"] == "session-owner"
            }
            Answered::KeepAlive(kept) if keeps => kept.sessions[0].refusal.as_ref().unwrap().reason == "NOT_ATTACHED",
            _ => false,
        };
    }
}

#[tokio::test]
async fn a_keep_alive_renews_nobody_elses_session() {
    let office = Office::open(&["ann", "acquire", "read"], &policy("")).await;
    let (ann, other, reader) =
        (office.caller("ann").await, office.caller("acquire").await, office.caller("read").await);
    acquire(&ann, "job", "ann").await.unwrap();
    let keep = |who: Who| async move {
        let request = KeepAliveRequest { session_ids: vec!["ann".into()], ..KeepAliveRequest::default() };
        let mut sessions = SessionServiceClient::new(who.channel.clone());
        let mut answers = within(sessions.keep_alive(who.ask(tokio_stream::iter([request])))).await?.into_inner();
        Ok::<_, Status>(within(answers.message()).await?.unwrap().sessions.remove(0))
    };
    assert!(keep(ann).await.unwrap().refusal.is_none());
    let refusal = keep(other).await.unwrap().refusal.unwrap();
    assert_eq!((&*refusal.reason, &*refusal.metadata["rule"]), ("PERMISSION_DENIED", "session-owner"));
    assert!(is_forbidden(&keep(reader).await.map(drop)));
}

#[tokio::test]
async fn what_is_under_way_ends_when_it_is_allowed_no_more() {
    let office = Office::open(&["ann", "bob"], TEAMS).await;
    let ann = office.caller("ann").await;
    let both = TEAMS.replace("roles = [\"b\"]", "roles = [\"a\", \"b\"]");
    office.change_policy(&both);
    acquire(&ann, "team-a/x", "ann").await.unwrap();
    let bob = office.caller("bob").await;
    until_readable(&bob, "team-a/x").await;

    // A watch, and a wait, as plain calls and on a stream; and a wait that goes on, for what is still allowed.
    let watch = WatchRequest { names: vec!["team-a/x".into()], ..WatchRequest::default() };
    let mut watching =
        WatchServiceClient::new(bob.channel.clone()).watch(bob.ask(watch.clone())).await.unwrap().into_inner();
    assert!(within(watching.message()).await.unwrap().is_some());
    let waiting = acquire_in_background(&bob, "team-a/x");
    let commands = vec![
        Command { id: 1, kind: Some(Kind::Watch(watch)) },
        Command {
            id: 2,
            kind: Some(Kind::OpenSession(OpenSessionRequest {
                session_id: "stream".into(),
                ttl: second(),
                ..Default::default()
            })),
        },
    ];
    let (requests, outgoing) = tokio::sync::mpsc::channel(2);
    requests.send(StreamRequest { commands }).await.unwrap();
    let mut client = ClientServiceClient::new(bob.channel.clone());
    let stream = client.stream(bob.ask(ReceiverStream::new(outgoing)));
    let mut responses = within(stream).await.unwrap().into_inner();
    let mut told = Vec::new();
    until_told(&mut responses, &mut told, |told| answers(told, 1) > 0 && answers(told, 2) > 0).await;
    let wait =
        AcquireRequest { names: vec!["team-a/x".into()], session_id: "stream".into(), ..AcquireRequest::default() };
    requests.send(StreamRequest { commands: vec![Command { id: 3, kind: Some(Kind::Acquire(wait)) }] }).await.unwrap();
    within(until_waiting(&ann, 2)).await;

    office.change_policy(TEAMS);
    let ended = loop {
        match within(watching.message()).await {
            Ok(Some(_)) => {}
            ended => break ended.unwrap_err(),
        }
    };
    assert_eq!((ended.code(), fact(&ended, "verb")), (Code::PermissionDenied, "watch".into()));
    let ended = within(waiting).await.unwrap().unwrap_err();
    assert_eq!((ended.code(), fact(&ended, "verb")), (Code::PermissionDenied, "acquire".into()));
    until_told(&mut responses, &mut told, |told| refused(told, 1) && refused(told, 3)).await;
    acquire(&bob, "team-b/x", "bob-too").await.unwrap();
}

fn acquire_in_background(who: &Who, name: &'static str) -> tokio::task::JoinHandle<Result<u64, Status>> {
    let who = who.clone();
    tokio::spawn(async move { acquire(&who, name, "waits").await })
}

async fn until_readable(who: &Who, name: &str) {
    let ask = || who.ask(GetLockRequest { name: name.into(), ..GetLockRequest::default() });
    let readable = async {
        while LockServiceClient::new(who.channel.clone()).get_lock(ask()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within(readable).await;
}

async fn until_waiting(who: &Who, many: usize) {
    loop {
        let ask = who.ask(GetLockRequest { name: "team-a/x".into(), ..GetLockRequest::default() });
        let lock = LockServiceClient::new(who.channel.clone()).get_lock(ask).await.unwrap().into_inner().lock.unwrap();
        if lock.waiters.len() == many {
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn until_told(
    responses: &mut tonic::Streaming<StreamResponse>,
    told: &mut Vec<Answer>,
    enough: impl Fn(&[Answer]) -> bool,
) {
    while !enough(told) {
        told.extend(within(responses.message()).await.unwrap().unwrap().answers);
    }
}

fn answers(told: &[Answer], id: u64) -> usize {
    told.iter().filter(|answer| answer.id == id).count()
}

fn refused(told: &[Answer], id: u64) -> bool {
    let is_refusal = |answer: &Answer| matches!(&answer.kind, Some(Answered::Refusal(refusal)) if refusal.reason == "PERMISSION_DENIED");
    told.iter().any(|answer| answer.id == id && is_refusal(answer))
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let (tokens_file, policy) = (folder.path().join("tokens"), Some(file.clone()));
    let (token, line) = tenure_server::access::new_token("ann").unwrap();
    std::fs::write(&tokens_file, line).unwrap();
    write(TEAMS);
    let credentials = CredentialOptions { tokens_file: Some(tokens_file), policy, ..CredentialOptions::default() };
    let access = Access::load(credentials, None).await.unwrap();
    let shown = http::HeaderMap::from_iter([(http::header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap())]);
    let ann = access.identify(&shown, &Peer::default()).unwrap();
    let may = |name| ann.rights().allow(Verb::Acquire, "default", name);
    assert!(may("team-a") && !may("team-b") && !access.reload_policy().unwrap());

    write("[[grants]]\nidentity = \"token:ann\"\nroles = [\"unknown\"]\n");
    let problem = access.reload_policy().unwrap_err();
    assert!(problem.starts_with("policy: ") && problem.contains("there is no role \"unknown\""), "{problem}");
    std::fs::remove_file(&file).unwrap();
    access.reload_policy().unwrap_err();
    assert!(may("team-a") && !may("team-b"), "the one from before is in force");

    write(&TEAMS.replace("roles = [\"a\"]", "roles = [\"b\"]"));
    assert!(access.reload_policy().unwrap() && !may("team-a") && may("team-b"));
}

/// The policy that is shown to users.
#[tokio::test]
async fn the_policy_of_the_readme_says_what_it_says_there() {
    let readme = include_str!("../../README.md");
    let policy = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let office = Office::open(&["billing"], policy).await;
    let billing = office.caller("billing").await;
    acquire(&billing, "billing", "b").await.unwrap();
    acquire(&billing, "billing/run", "b").await.unwrap();
    for name in ["billing-old", "other"] {
        assert!(is_forbidden(&acquire(&billing, name, "b").await.map(drop)), "{name}");
    }
    let evict = EvictRequest { name: "billing".into(), operator: "eve".into(), ..EvictRequest::default() };
    let evicted = within(LockServiceClient::new(billing.channel.clone()).evict(billing.ask(evict))).await;
    assert!(is_forbidden(&evicted.map(drop)));
}

#[tokio::test]
async fn what_can_be_called_is_told_to_those_who_may_call_something() {
    let office = Office::open(&["read", "none"], &policy("")).await;
    for (name, is_told) in [("read", true), ("none", false)] {
        let who = office.caller(name).await;
        let ask = ServerReflectionRequest {
            message_request: Some(MessageRequest::ListServices(String::new())),
            ..ServerReflectionRequest::default()
        };
        let mut reflection = ServerReflectionClient::new(who.channel.clone());
        let told = within(reflection.server_reflection_info(who.ask(tokio_stream::iter([ask])))).await.map(drop);
        assert_eq!(is_forbidden(&told), !is_told, "{told:?}");
        let mut health = HealthClient::new(who.channel.clone());
        within(health.check(HealthCheckRequest::default())).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_does_not_start_with_a_policy_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let (tokens, policy) = (folder.path().join("tokens"), folder.path().join("policy"));
    std::fs::write(&tokens, "").unwrap();
    let start = || {
        let credentials = CredentialOptions {
            tokens_file: Some(tokens.clone()),
            policy: Some(policy.clone()),
            ..CredentialOptions::default()
        };
        Server::start_with(options(credentials), MemoryDatabase::new().server())
    };
    for text in [None, Some("[[grants]]\nidentity = \"ann\"\nroles = []\n")] {
        if let Some(text) = text {
            std::fs::write(&policy, text).unwrap();
        }
        let problem = within(start()).await.err().unwrap().to_string();
        assert!(problem.starts_with("policy: ") && problem.contains(&policy.display().to_string()), "{problem}");
    }
}

#[tokio::test]
async fn it_is_written_down_what_operators_do_and_who_is_refused() {
    let office = Office::open(&["ann", "acquire", "read"], &policy("names = [\"team-a\"]")).await;
    let (ann, other) = (office.caller("ann").await, office.caller("acquire").await);
    let reader = office.caller("read").await;
    acquire(&ann, "team-a/x", "ann").await.unwrap();
    let evict = |name: &str, note: &str| EvictRequest {
        name: name.into(),
        operator: "eve".into(),
        note: note.into(),
        ..EvictRequest::default()
    };
    let mut locks = LockServiceClient::new(ann.channel.clone());
    within(locks.evict(ann.ask(evict("team-a/x", "stuck\u{202e}")))).await.unwrap();
    within(locks.evict(ann.ask(evict("team-b/x", "")))).await.unwrap_err();
    within(locks.list_locks(ListLocksRequest::default())).await.unwrap_err();
    acquire(&other, "team-a/x", "ann").await.unwrap_err();
    assert!(
        is_of_another(
            &other,
            Kind::CloseSession(CloseSessionRequest { session_id: "ann".into(), ..Default::default() })
        )
        .await
    );
    let release = ReleaseRequest { name: "team-a/x".into(), session_id: "ann".into(), token: 1, ..Default::default() };
    assert!(is_of_another(&other, Kind::Release(release)).await);
    let open = OpenSessionRequest { session_id: "r".into(), ttl: second(), ..OpenSessionRequest::default() };
    assert!(forbidden(&reader, Kind::OpenSession(open)).await);

    let told: Vec<_> = office
        .audit(7)
        .await
        .into_iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            assert!(
                line["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1:"))
                    && line["time"].is_string()
            );
            let name = line["names"][0].as_str().unwrap_or_default().to_owned();
            (
                line["allowed"].as_bool().unwrap(),
                text("rule"),
                text("identity"),
                text("call"),
                name,
                text("note"),
                text("session_id"),
            )
        })
        .collect();
    let line = |allowed, rule: &str, identity: &str, call: &str, name: &str, note: &str, session: &str| {
        let call = format!("tenure.v1.{call}");
        (allowed, rule.into(), identity.into(), call, name.into(), note.into(), session.into())
    };
    assert_eq!(
        told,
        [
            line(true, "", "token:ann", "LockService/Evict", "team-a/x", "stuck\u{202e}", ""),
            line(false, "policy", "token:ann", "LockService/Evict", "team-b/x", "", ""),
            line(false, "credentials-required", "", "LockService/ListLocks", "", "", ""),
            line(false, "session-owner", "token:acquire", "LockService/Acquire", "team-a/x", "", "ann"),
            line(false, "session-owner", "token:acquire", "SessionService/CloseSession", "", "", "ann"),
            line(false, "session-owner", "token:acquire", "ClientService/Stream", "", "", "ann"),
            line(false, "policy", "token:read", "SessionService/OpenSession", "", "", "r"),
        ]
    );
}

#[tokio::test]
async fn all_can_be_written_down_but_renewals() {
    let office = Office::audited(&["ann"], &policy(""), true).await;
    let ann = office.caller("ann").await;
    acquire(&ann, "job", "ann").await.unwrap();
    let renew = RenewRequest { session_id: "ann".into(), ..RenewRequest::default() };
    within(SessionServiceClient::new(ann.channel.clone()).renew(ann.ask(renew))).await.unwrap();
    assert!(!forbidden(&ann, Kind::GetLock(GetLockRequest { name: "job".into(), ..Default::default() })).await);
    let told = office.audit(2).await;
    let calls: Vec<&str> = told.iter().map(|line| line["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["tenure.v1.LockService/Acquire", "tenure.v1.LockService/GetLock"]);
}

#[tokio::test]
async fn a_server_does_not_start_without_its_audit_log() {
    let audit = Some(AuditOptions { file: "/no/such/folder/audit".into(), everything: false });
    let credentials = CredentialOptions { audit, ..CredentialOptions::default() };
    let started = within(Server::start_with(options(credentials), MemoryDatabase::new().server())).await;
    let problem = started.err().unwrap().to_string();
    assert!(problem.starts_with("audit_log: /no/such/folder/audit: "), "{problem}");
}
