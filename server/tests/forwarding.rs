//! Forwarding of commands to the server that wrote last: it is faster, and never changes the result.

use crate::lab;

use std::sync::Arc;
use std::time::Duration;

use lab::peers::LabPeers;
use lab::{Sent, Server, assert_no_gaps, eventually, pass, settle, within};
use tenure_core::testing::{Build, cancel, opening, release};
use tenure_core::{
    Absence, AskedMode, Change, Command, Declaration, DeclaredClaim, DeclaredSession, Event, Hello, Outcome, Rejection,
    Revision, ServerId, no_labels,
};
use tenure_server::sequencer::forwarding::Forward;
use tenure_server::sequencer::{ItemState, Mailbox};
use tenure_server::store::{Fault, MemoryDatabase};

/// Longer than the timeout of a forward, and shorter than the wait of any call.
const REPLY_LIMIT: Duration = Duration::from_secs(1);

struct Pair {
    database: MemoryDatabase,
    peers: Arc<LabPeers>,
    /// The server that writes.
    writer: Server,
    /// The server that forwards.
    follower: Server,
}

impl Pair {
    /// Two servers, of which one has just written and the other one has a link to it.
    async fn start() -> Self {
        let (database, peers) = (MemoryDatabase::new(), Arc::new(LabPeers::default()));
        let writer = Server::start_among(&database, Some(&peers)).await;
        let follower = Server::start_among(&database, Some(&peers)).await;
        // Time for each server to learn of the other.
        pass(Duration::from_secs(1)).await;
        let pair = Self { database, peers, writer, follower };
        eventually(Duration::from_secs(5), "commands are forwarded", async || {
            let sent = pair.peers.sent();
            pair.write().await;
            pair.follower.hold("probe", "probe").await;
            pair.peers.sent() > sent
        })
        .await;
        pair.write().await;
        pair
    }

    /// Commits a write at the writer, which the other server applies.
    async fn write(&self) {
        let token = self.writer.hold("writer", "writer").await;
        self.writer.release("writer", "writer", token).await.expect("held");
        settle().await;
    }

    /// Sends a command to the follower, in the background.
    async fn ask(&self, command: Command) -> Sent {
        let sent = self.peers.sent();
        let reply = self.follower.send(command).await;
        assert_eq!(self.peers.sent(), sent + 1, "forwarded");
        reply
    }

    /// The servers that appended the grants of a lock, and the sessions that received them.
    fn grants(&self, name: &str) -> Vec<(ServerId, String)> {
        let log = self.database.log("default");
        let events = log.iter().flat_map(|batch| batch.events.iter().map(|recorded| (batch.server, &recorded.event)));
        let grants = events.filter_map(|(server, event)| match event {
            Event::ClaimGranted { spec, .. } if *spec.names[0] == *name => Some((server, spec.session.to_string())),
            _ => None,
        });
        grants.collect()
    }

    fn voids(&self) -> usize {
        let log = self.database.log("default");
        let events = log.iter().flat_map(|batch| &batch.events);
        events.filter(|recorded| matches!(recorded.event, Event::ForwardsVoided { .. })).count()
    }

    /// Lets the delayed forwards arrive, and asserts that they have no effect.
    async fn assert_late_forwards_have_no_effect(&self) {
        self.write().await;
        let before = self.database.revision("default");
        self.peers.delay_forwards(false);
        settle().await;
        assert_eq!(self.peers.arrived(), self.peers.sent());
        self.write().await;
        let after = self.database.revision("default");
        assert_eq!(after.0, before.0 + 2, "only the writes of the writer");
    }
}

#[tokio::test(start_paused = true)]
async fn command_is_forwarded_to_the_server_that_wrote_last() {
    let pair = Pair::start().await;
    let asked = pair.ask(pair.follower.acquire("ann", "a")).await;
    let held = lab::held(within(REPLY_LIMIT, asked).await.expect("ran"));
    assert_eq!(pair.grants("a"), [(pair.writer.node.id, "ann".to_owned())]);
    assert_eq!(pair.follower.holder("a").await, Some(("ann".to_owned(), held)));
    pair.write().await;
    let released = within(REPLY_LIMIT, pair.ask(release("ann", "a", held)).await).await.expect("ran").expect("held");
    assert_eq!(released.outcome, Outcome::Done);
    assert_eq!(pair.writer.holder("a").await, None);
    assert_eq!(pair.voids(), 0);
}

#[tokio::test(start_paused = true)]
async fn session_has_its_home_at_the_server_that_forwarded_its_command() {
    let pair = Pair::start().await;
    lab::held(within(REPLY_LIMIT, pair.ask(pair.follower.acquire("ann", "a")).await).await.expect("ran"));
    assert!(pair.follower.keep_alive_for("ann", lab::TTL * 3).await);
    pass(lab::TTL * 2).await;
    assert!(!pair.writer.is_open("ann").await, "it has expired");
}

#[tokio::test(start_paused = true)]
async fn forwarded_command_is_decided_by_the_current_state_of_the_other_server() {
    let pair = Pair::start().await;
    let held = pair.writer.hold("bob", "b").await;
    settle().await;
    let decided = within(REPLY_LIMIT, pair.ask(pair.follower.acquire("ann", "b").queue(false)).await)
        .await
        .expect("ran")
        .expect("decided");
    assert!(matches!(&decided.outcome, Outcome::Busy { blocker, .. } if blocker.token() == Some(held)));
}

#[tokio::test(start_paused = true)]
async fn forwarded_command_that_timed_out_and_was_executed_here_has_no_late_effect() {
    let pair = Pair::start().await;
    pair.peers.delay_forwards(true);
    let asked = pair.ask(pair.follower.acquire("ann", "a")).await;
    let held = lab::held(within(REPLY_LIMIT, asked).await.expect("ran"));
    assert_eq!(pair.grants("a"), [(pair.follower.node.id, "ann".to_owned())]);
    pair.follower.release("ann", "a", held).await.expect("held");
    pair.assert_late_forwards_have_no_effect().await;
    assert_eq!(pair.writer.holder("a").await, None, "no late effect");
}

#[tokio::test(start_paused = true)]
async fn forwarded_command_that_timed_out_is_voided_even_without_events() {
    let pair = Pair::start().await;
    let held = lab::held(within(REPLY_LIMIT, pair.ask(pair.follower.acquire("ann", "a")).await).await.expect("ran"));
    pair.write().await;
    pair.peers.delay_forwards(true);
    let again = pair.ask(pair.follower.acquire("ann", "a")).await;
    assert_eq!(lab::held(within(REPLY_LIMIT, again).await.expect("ran")), held);
    assert_eq!(pair.voids(), 1);
    pair.write().await;
    pair.follower.release("ann", "a", held).await.expect("held");
    pair.assert_late_forwards_have_no_effect().await;
    assert_eq!(pair.writer.holder("a").await, None, "no late effect");
}

#[tokio::test(start_paused = true)]
async fn forwarded_command_is_found_committed_after_the_other_server_dies() {
    let pair = Pair::start().await;
    pair.peers.delay_notices(true);
    let asked = pair.ask(pair.follower.acquire("ann", "a")).await;
    settle().await;
    pair.writer.kill();
    let held = lab::held(within(REPLY_LIMIT, asked).await.expect("ran"));
    assert_eq!(pair.grants("a"), [(pair.writer.node.id, "ann".to_owned())], "once");
    assert_eq!(pair.follower.holder("a").await, Some(("ann".to_owned(), held)));
    let start = tokio::time::Instant::now();
    pair.follower.hold("bob", "b").await;
    assert!(start.elapsed() < Duration::from_millis(50), "no further command is forwarded to it");
}

#[tokio::test(start_paused = true)]
async fn forwarded_command_of_unknown_outcome_is_resolved() {
    for fault in [Fault::OutcomeUnknown, Fault::OutcomeUnknownAndLost] {
        let pair = Pair::start().await;
        pair.database.fail_next(fault);
        let asked = pair.ask(pair.follower.acquire("ann", "a")).await;
        let held = lab::held(within(REPLY_LIMIT, asked).await.expect("ran"));
        assert_eq!(pair.grants("a").len(), 1, "{fault:?}");
        // Time for the other server to find out, too.
        pass(Duration::from_millis(100)).await;
        assert_eq!(pair.follower.holder("a").await, Some(("ann".to_owned(), held)));
        assert_eq!(pair.writer.holder("a").await, Some(("ann".to_owned(), held)));
    }
}

#[tokio::test(start_paused = true)]
async fn forwarded_command_has_an_unknown_outcome_while_the_store_is_unavailable_and_is_voided() {
    let pair = Pair::start().await;
    pair.peers.delay_forwards(true);
    let asked = pair.ask(pair.follower.acquire("ann", "a")).await;
    pair.database.set_available(false);
    let refused = within(REPLY_LIMIT, asked).await.expect("ran").map(drop);
    assert_eq!(refused, Err(Rejection::OutcomeUnknown));
    pair.database.set_available(true);
    // A command that appends nothing.
    let nothing = Command::EndWait { claim: Revision(1), home: pair.follower.node.id };
    pair.follower.ask(nothing).await.expect("decided");
    assert_eq!(pair.voids(), 1, "a server that still has it may not decide it after this reply");
    pair.assert_late_forwards_have_no_effect().await;
    assert_eq!(pair.writer.holder("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn wait_that_has_moved_is_not_ended_by_a_forwarded_command_of_its_former_server() {
    let pair = Pair::start().await;
    pair.writer.hold("bob", "a").await;
    settle().await;
    let waits =
        within(REPLY_LIMIT, pair.ask(pair.follower.acquire("ann", "a")).await).await.expect("ran").expect("waits");
    let Outcome::Waiting { claim, .. } = &waits.outcome else { panic!("{:?}", waits.outcome) };
    let claim = claim.id;
    pair.write().await;
    pair.peers.delay_forwards(true);
    let asked = pair.ask(Command::EndWait { claim, home: pair.follower.node.id }).await;
    let _moved = pair.writer.queue("ann", "a").await;
    pair.peers.delay_forwards(false);
    let decided = within(REPLY_LIMIT, asked).await.expect("ran").expect("decided");
    assert!(matches!(decided.outcome, Outcome::Waiting { .. }), "{:?}", decided.outcome);
    std::mem::forget(waits.pending);
}

#[tokio::test(start_paused = true)]
async fn call_that_is_overtaken_by_its_cancel_is_rejected() {
    let pair = Pair::start().await;
    let held = lab::held(within(REPLY_LIMIT, pair.ask(pair.follower.acquire("ann", "b")).await).await.expect("ran"));
    pair.write().await;
    pair.peers.delay_forwards(true);
    let asked = pair.ask(pair.follower.call("ann", "a").await).await;
    pair.writer.ask(cancel("ann", "a")).await.expect("cancelled");
    pair.peers.delay_forwards(false);
    let rejected = within(REPLY_LIMIT, asked).await.expect("ran").map(drop);
    assert_eq!(rejected, Err(Rejection::AcquireCancelled("ann".into())));
    assert_eq!(pair.writer.holder("a").await, None, "no late effect");
    assert_eq!(pair.writer.holder("b").await, Some(("ann".to_owned(), held)), "nothing else is cancelled");
    // Requests that the server receives from now on are newer than the cancel.
    let again = pair.ask(pair.follower.call("ann", "a").await).await;
    lab::held(within(REPLY_LIMIT, again).await.expect("ran"));
}

/// A client on the declared stream.
struct Client {
    connected: Revision,
    mailbox: Mailbox,
}

const CLIENT: &str = "client";

impl Pair {
    /// Connects the client to a server, with what it knows that it has.
    async fn connect(&self, server: &Server, epoch: u64, known: Vec<u64>) -> Client {
        let (namespace, mailbox, home) = (server.namespace().await, Mailbox::default(), server.node.id);
        namespace.register_client(&CLIENT.into(), epoch, &mailbox);
        let (client, received, declared) = (CLIENT.into(), namespace.revision(), Vec::new());
        let hello = Hello { client, epoch, home, received, identity: None, known, declared };
        let connected = server.ask(Command::Connect(hello)).await.expect("connected").revision;
        // The server that has just written writes for a while.
        pass(Duration::from_millis(200)).await;
        self.write().await;
        Client { connected, mailbox }
    }

    /// Sends changes of the client, which are forwarded, in the background.
    async fn change(&self, client: &Client, changes: Vec<Change>) -> Sent {
        self.ask(change(&self.follower, client.connected, changes)).await
    }
}

fn change(server: &Server, connected: Revision, changes: Vec<Change>) -> Command {
    Command::Change { client: CLIENT.into(), epoch: 1, home: server.node.id, connected, changes }
}

/// Session 1, with a claim to a lock.
fn declare(number: u64, name: &str, queue: bool) -> Change {
    declare_in((1, "declared"), number, name, queue)
}

/// A session, with a claim to a lock.
fn declare_in((session, id): (u64, &str), number: u64, name: &str, queue: bool) -> Change {
    let (names, mode, metadata) = (vec![name.into()].into(), AskedMode::Exclusive, no_labels());
    let claim = DeclaredClaim { number, names, mode, queue, priority: 0, metadata, min_hold: Duration::ZERO };
    let opening = Some(DeclaredSession { id: id.into(), disconnect_grace: None, opening: opening() });
    Change::Declare(Declaration { session, opening, claims: vec![claim], memberships: Vec::new() })
}

/// What the client does not have, of what it has declared.
async fn absent(sent: Sent) -> Vec<(u64, Absence)> {
    let decided = within(REPLY_LIMIT, sent).await.expect("ran").expect("decided");
    let Outcome::Reconciled { absent, .. } = decided.outcome else { panic!("{:?}", decided.outcome) };
    absent
}

#[tokio::test(start_paused = true)]
async fn declared_change_is_forwarded() {
    let pair = Pair::start().await;
    let client = pair.connect(&pair.follower, 1, Vec::new()).await;
    assert_eq!(absent(pair.change(&client, vec![declare(2, "a", true)]).await).await, []);
    assert_eq!(pair.grants("a"), [(pair.writer.node.id, "declared".to_owned())]);
    let states = client.mailbox.take(9);
    assert!(matches!(&states[..], [(1, ..), (2, _, ItemState::Held { .. })]), "{states:?}");
    pair.write().await;
    assert_eq!(absent(pair.change(&client, vec![Change::Withdraw(2)]).await).await, []);
    assert_eq!(pair.writer.holder("a").await, None);
    assert_eq!(pair.voids(), 0);
}

/// When it is decided again, a greater number is used, so that nothing shows why it was not made.
#[tokio::test(start_paused = true)]
async fn failed_try_before_a_claim_has_an_unknown_outcome() {
    for are_notices_late in [false, true] {
        let pair = Pair::start().await;
        pair.writer.hold("bob", "b").await;
        settle().await;
        let client = pair.connect(&pair.follower, 1, Vec::new()).await;
        pair.peers.delay_notices(are_notices_late);
        let changes = vec![declare(2, "b", false), declare_in((3, "other"), 4, "a", true)];
        let absent = absent(pair.change(&client, changes).await).await;
        let unknown = Absence::Rejected(Rejection::OutcomeUnknown);
        assert_eq!(absent, [(1, unknown.clone()), (2, unknown)], "may be declared anew");
        assert_eq!(pair.grants("a").len(), 1);
    }
}

/// Its reply was lost with the stream. A known session that is gone without a reason has ended.
#[tokio::test(start_paused = true)]
async fn failed_try_that_a_hello_declares_again_has_an_unknown_outcome() {
    let pair = Pair::start().await;
    pair.writer.hold("bob", "b").await;
    let client = pair.connect(&pair.writer, 1, Vec::new()).await;
    let opened =
        change(&pair.writer, client.connected, vec![declare(2, "b", false), declare_in((3, "s"), 4, "a", true)]);
    pair.writer.ask(opened).await.expect("decided");
    let (namespace, mailbox) = (pair.writer.namespace().await, Mailbox::default());
    namespace.register_client(&CLIENT.into(), 2, &mailbox);
    let tried = [declare(2, "b", false), declare_in((5, "gone"), 6, "c", false)];
    let mut declared: Vec<Declaration> = tried.into_iter().filter_map(declaration).collect();
    declared[1].opening = None;
    let (client, home, received) = (CLIENT.into(), pair.writer.node.id, namespace.revision());
    let hello = Hello { client, epoch: 2, home, received, identity: None, known: vec![3, 4, 5], declared };
    let connected = pair.writer.ask(Command::Connect(hello)).await.expect("connected");
    let Outcome::Reconciled { absent, .. } = connected.outcome else { panic!("{:?}", connected.outcome) };
    let unknown = Absence::Rejected(Rejection::OutcomeUnknown);
    let ended = Absence::Ended(None);
    assert_eq!(absent, [(5, ended.clone()), (1, unknown.clone()), (2, unknown.clone()), (5, ended), (6, unknown)]);
}

fn declaration(change: Change) -> Option<Declaration> {
    match change {
        Change::Declare(declaration) => Some(declaration),
        Change::Withdraw(_) => None,
    }
}

#[tokio::test(start_paused = true)]
async fn declared_change_whose_reply_is_lost_is_decided_once() {
    let pair = Pair::start().await;
    let client = pair.connect(&pair.follower, 1, Vec::new()).await;
    pair.peers.delay_notices(true);
    let sent = pair.change(&client, vec![declare(2, "a", true)]).await;
    assert_eq!(absent(sent).await, []);
    assert_eq!(pair.grants("a"), [(pair.writer.node.id, "declared".to_owned())], "once");
    assert_eq!(pair.voids(), 0, "its number is used once");
}

#[tokio::test(start_paused = true)]
async fn declared_change_that_arrives_late_changes_nothing() {
    let pair = Pair::start().await;
    let client = pair.connect(&pair.follower, 1, Vec::new()).await;
    pair.peers.delay_forwards(true);
    assert_eq!(absent(pair.change(&client, vec![declare(2, "a", true)]).await).await, []);
    assert_eq!(pair.grants("a"), [(pair.follower.node.id, "declared".to_owned())]);
    let withdraw = change(&pair.follower, client.connected, vec![Change::Withdraw(2)]);
    pair.follower.ask(withdraw).await.expect("decided");
    pair.assert_late_forwards_have_no_effect().await;
    assert_eq!(pair.writer.holder("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn declared_change_that_arrives_after_its_client_has_moved_changes_nothing() {
    let pair = Pair::start().await;
    let client = pair.connect(&pair.follower, 1, Vec::new()).await;
    assert_eq!(absent(pair.change(&client, vec![declare(2, "b", true)]).await).await, []);
    pair.write().await;
    pair.peers.delay_forwards(true);
    let sent = pair.change(&client, vec![declare(3, "a", true), Change::Withdraw(2)]).await;
    pair.connect(&pair.writer, 2, vec![1, 2]).await;
    pair.peers.delay_forwards(false);
    let superseded = within(REPLY_LIMIT, sent).await.expect("ran").map(drop);
    assert_eq!(superseded, Err(Rejection::ClientSuperseded(CLIENT.into())));
    assert_eq!(pair.writer.holder("a").await, None);
    assert!(pair.writer.holder("b").await.is_some());
    assert_eq!(pair.voids(), 0, "its epoch is over");
}

#[tokio::test(start_paused = true)]
async fn declared_claim_that_was_reported_as_busy_is_not_granted_late() {
    let pair = Pair::start().await;
    let client = pair.connect(&pair.follower, 1, Vec::new()).await;
    let held = pair.writer.hold("bob", "a").await;
    settle().await;
    pair.peers.delay_forwards(true);
    let absent = absent(pair.change(&client, vec![declare(2, "a", false)]).await).await;
    assert!(matches!(&absent[..], [(1, _), (2, Absence::Busy { .. })]), "{absent:?}");
    assert_eq!(pair.voids(), 1, "its number is not used");
    pair.writer.release("bob", "a", held).await.expect("held");
    pair.assert_late_forwards_have_no_effect().await;
    assert_eq!(pair.writer.holder("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn forward_after_a_rejected_one_is_rejected() {
    let pair = Pair::start().await;
    let (namespace, server) = (pair.writer.namespace().await, pair.follower.node.id);
    let mut notices = namespace.follow(server, 100).await.expect("running");
    let (now, future) = (namespace.revision(), Revision(1_000_000));
    for (number, oldest, after, is_decided) in
        [(99, 99, now, false), (101, 101, future, false), (102, 101, now, false), (103, 103, now, true)]
    {
        let requests = vec![pair.follower.acquire("ann", &format!("a{number}")).into()];
        let (pauses, traces) = (Vec::new(), Vec::new());
        let forward = Forward { number, oldest, after, requests, pauses, traces };
        namespace.forward(server, forward).await.expect("running");
        let notice = within(REPLY_LIMIT, notices.recv()).await.expect("it follows");
        let (numbers, none) = (vec![number], Vec::new());
        let expected = if is_decided { (numbers, none) } else { (none, numbers) };
        assert_eq!((notice.decided, notice.rejected), expected);
        assert_eq!(notice.batch.is_some(), is_decided);
    }
}

#[tokio::test(start_paused = true)]
async fn revisions_of_servers_that_forward_to_each_other_have_no_gaps() {
    let (database, peers) = (MemoryDatabase::new(), Arc::new(LabPeers::default()));
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Arc::new(Server::start_among(&database, Some(&peers)).await));
    }
    pass(Duration::from_secs(1)).await;
    let mut clients = Vec::new();
    for number in 0..30 {
        let server = servers[number % 3].clone();
        clients.push(tokio::spawn(async move {
            let (session, name) = (format!("s{number}"), format!("n{}", number % 20));
            for turn in 0..20 {
                let held = acquire(&server, &session, &name).await;
                server.release(&session, &name, held).await.expect("held");
                if turn % 7 == number % 7 {
                    tokio::time::sleep(Duration::from_millis(number as u64 * 7)).await;
                }
            }
        }));
    }
    for client in clients {
        within(Duration::from_secs(120), client).await.expect("ran");
    }
    assert_no_gaps(&database);
    assert!(peers.sent() > 0);
    for server in &servers {
        for name in 0..20 {
            assert_eq!(server.holder(&format!("n{name}")).await, None);
        }
    }
}

/// Acquires a lock, however long that takes.
async fn acquire(server: &Server, session: &str, name: &str) -> Revision {
    let decided = server.ask(server.acquire(session, name)).await.expect("decided");
    let mut pending = decided.pending.expect("new");
    let held = match decided.outcome {
        Outcome::Held { claim, .. } => claim,
        _ => match within(Duration::from_secs(60), pending.wait()).await {
            Some(tenure_server::sequencer::WaitEnd::Granted(claim)) => claim,
            other => panic!("{other:?}"),
        },
    };
    pending.acknowledge();
    held.token().expect("held")
}
