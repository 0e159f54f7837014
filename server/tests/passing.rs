//! Forwarding of commands to the server that wrote last: it is faster, and never changes the result.

use crate::lab;

use std::sync::Arc;
use std::time::Duration;

use lab::peers::LabPeers;
use lab::{Server, eventually, pass, settle, within};
use tenure_core::{Command, Event, Outcome, Rejection, Revision, ServerId};
use tenure_server::sequencer::{CommandResult, Refusal};
use tenure_server::store::{Fault, MemoryDatabase};
use tokio::task::JoinHandle;

/// Longer than the timeout of a pass, and shorter than the wait of any call.
const GIVES_UP: Duration = Duration::from_secs(1);

struct Office {
    database: MemoryDatabase,
    peers: Arc<LabPeers>,
    /// The server that writes.
    writer: Server,
    /// The server that forwards.
    giver: Server,
}

impl Office {
    /// Two servers, of which one has just written and the other one has a link to it.
    async fn open() -> Self {
        let (database, peers) = (MemoryDatabase::new(), Arc::new(LabPeers::default()));
        let writer = Server::start_among(&database, Some(&peers)).await;
        let giver = Server::start_among(&database, Some(&peers)).await;
        // Time for each server to learn of the other.
        pass(Duration::from_secs(1)).await;
        let office = Self { database, peers, writer, giver };
        eventually(Duration::from_secs(5), "the one passes to the other", async || {
            let sent = office.peers.sent();
            office.write().await;
            office.giver.hold("probe", "probe").await;
            office.peers.sent() > sent
        })
        .await;
        office.write().await;
        office
    }

    /// Commits a write at the writer, which the other server applies.
    async fn write(&self) {
        let token = self.writer.hold("writer", "writer").await;
        self.writer.release("writer", "writer", token).await.expect("held");
        settle().await;
    }

    /// Sends a command to the giver, in the background.
    async fn ask(&self, command: Command) -> JoinHandle<Result<CommandResult, Refusal>> {
        let (namespace, sent) = (self.giver.namespace().await, self.peers.sent());
        let asked = tokio::spawn(async move { namespace.decide(command).await });
        settle().await;
        assert_eq!(self.peers.sent(), sent + 1, "it is passed");
        asked
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
        events.filter(|recorded| matches!(recorded.event, Event::PassesVoided { .. })).count()
    }

    /// Lets the delayed passes arrive, and asserts that they have no effect.
    async fn stale_passes_arrive_in_vain(&self) {
        self.write().await;
        let before = self.database.revision("default");
        self.peers.hold_passes(false);
        settle().await;
        assert_eq!(self.peers.arrived(), self.peers.sent());
        self.write().await;
        let after = self.database.revision("default");
        assert_eq!(after.0, before.0 + 2, "nothing but what the writer wrote");
    }
}

fn token(decided: Result<CommandResult, Refusal>) -> Revision {
    let decided = decided.expect("decided");
    decided.pending.into_iter().for_each(tenure_server::sequencer::PendingGrant::acknowledge);
    match decided.outcome {
        Outcome::Held { claim, .. } => claim.token().expect("held"),
        other => panic!("it should be held: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn who_did_not_write_last_passes_to_the_one_that_did() {
    let office = Office::open().await;
    let asked = office.ask(office.giver.acquire("ann", "a")).await;
    let held = token(within(GIVES_UP, asked).await.expect("ran"));
    assert_eq!(office.grants("a"), [(office.writer.node.id(), "ann".to_owned())]);
    assert_eq!(office.giver.holder("a").await, Some(("ann".to_owned(), held)));
    office.write().await;
    let release = Command::Release { session: "ann".into(), name: "a".into(), token: held };
    let released = within(GIVES_UP, office.ask(release).await).await.expect("ran").expect("held");
    assert_eq!(released.outcome, Outcome::Done);
    assert_eq!(office.writer.holder("a").await, None);
    assert_eq!(office.voids(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_home_of_a_session_is_the_server_that_passed_for_it() {
    let office = Office::open().await;
    token(within(GIVES_UP, office.ask(office.giver.acquire("ann", "a")).await).await.expect("ran"));
    assert!(office.giver.keep_alive_for("ann", lab::TTL * 3).await);
    pass(lab::TTL * 2).await;
    assert!(!office.writer.is_open("ann").await, "it expires there");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_that_of_the_moment_of_the_decision() {
    let office = Office::open().await;
    let held = office.writer.hold("bob", "b").await;
    settle().await;
    let mut command = office.giver.acquire("ann", "b");
    if let Command::Acquire { queue, .. } = &mut command {
        *queue = false;
    }
    let decided = within(GIVES_UP, office.ask(command).await).await.expect("ran").expect("decided");
    assert!(matches!(&decided.outcome, Outcome::Busy { blocker, .. } if blocker.token() == Some(held)));
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_and_done_otherwise_has_no_effect_any_more() {
    let office = Office::open().await;
    office.peers.hold_passes(true);
    let asked = office.ask(office.giver.acquire("ann", "a")).await;
    let held = token(within(GIVES_UP, asked).await.expect("ran"));
    assert_eq!(office.grants("a"), [(office.giver.node.id(), "ann".to_owned())]);
    office.giver.release("ann", "a", held).await.expect("held");
    office.stale_passes_arrive_in_vain().await;
    assert_eq!(office.writer.holder("a").await, None, "no ghost");
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_is_voided_even_if_there_is_nothing_to_append() {
    let office = Office::open().await;
    let held = token(within(GIVES_UP, office.ask(office.giver.acquire("ann", "a")).await).await.expect("ran"));
    office.write().await;
    office.peers.hold_passes(true);
    let again = office.ask(office.giver.acquire("ann", "a")).await;
    assert_eq!(token(within(GIVES_UP, again).await.expect("ran")), held);
    assert_eq!(office.voids(), 1);
    office.write().await;
    office.giver.release("ann", "a", held).await.expect("held");
    office.stale_passes_arrive_in_vain().await;
    assert_eq!(office.writer.holder("a").await, None, "no ghost");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_before_it_says_what_it_committed_costs_a_moment() {
    let office = Office::open().await;
    office.peers.hold_news(true);
    let asked = office.ask(office.giver.acquire("ann", "a")).await;
    settle().await;
    office.writer.kill();
    let held = token(within(GIVES_UP, asked).await.expect("ran"));
    assert_eq!(office.grants("a"), [(office.writer.node.id(), "ann".to_owned())], "once");
    assert_eq!(office.giver.holder("a").await, Some(("ann".to_owned(), held)));
    let start = tokio::time::Instant::now();
    office.giver.hold("bob", "b").await;
    assert!(start.elapsed() < Duration::from_millis(50), "it is not passed to any more");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_at_the_other_server_is_found_out_here() {
    for fault in [Fault::OutcomeUnknown, Fault::OutcomeUnknownAndLost] {
        let office = Office::open().await;
        office.database.fail_next(fault);
        let asked = office.ask(office.giver.acquire("ann", "a")).await;
        let held = token(within(GIVES_UP, asked).await.expect("ran"));
        assert_eq!(office.grants("a").len(), 1, "{fault:?}");
        // Time for the other server to find out, too.
        pass(Duration::from_millis(100)).await;
        assert_eq!(office.giver.holder("a").await, Some(("ann".to_owned(), held)));
        assert_eq!(office.writer.holder("a").await, Some(("ann".to_owned(), held)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_leaves_what_was_passed_unknown_and_to_be_voided() {
    let office = Office::open().await;
    office.peers.hold_passes(true);
    let asked = office.ask(office.giver.acquire("ann", "a")).await;
    office.database.set_available(false);
    let refused = within(GIVES_UP, asked).await.expect("ran").map(drop);
    assert_eq!(refused, Err(Refusal::OutcomeUnknown));
    office.database.set_available(true);
    // A command that appends nothing.
    let nothing = Command::EndWait { claim: Revision(1), home: office.giver.node.id() };
    office.giver.ask(nothing).await.expect("decided");
    assert_eq!(office.voids(), 1, "whoever has it still may not decide it after this answer");
    office.stale_passes_arrive_in_vain().await;
    assert_eq!(office.writer.holder("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_wait_whose_session_has_moved_is_not_ended_by_what_its_old_home_passed() {
    let office = Office::open().await;
    office.writer.hold("bob", "a").await;
    settle().await;
    let waits =
        within(GIVES_UP, office.ask(office.giver.acquire("ann", "a")).await).await.expect("ran").expect("waits");
    let Outcome::Waiting { claim, .. } = &waits.outcome else { panic!("{:?}", waits.outcome) };
    let claim = claim.id;
    office.write().await;
    office.peers.hold_passes(true);
    let asked = office.ask(Command::EndWait { claim, home: office.giver.node.id() }).await;
    let moved =
        Command::AttachSession { session: "ann".into(), home: office.writer.node.id(), attachment: 0, client: None };
    office.writer.ask(moved).await.expect("open");
    office.peers.hold_passes(false);
    let decided = within(GIVES_UP, asked).await.expect("ran").expect("decided");
    assert!(matches!(decided.outcome, Outcome::Waiting { .. }), "{:?}", decided.outcome);
    std::mem::forget(waits.pending);
}

#[tokio::test(start_paused = true)]
async fn call_that_is_overtaken_by_its_cancel_is_rejected() {
    let office = Office::open().await;
    let held = token(within(GIVES_UP, office.ask(office.giver.acquire("ann", "b")).await).await.expect("ran"));
    office.write().await;
    office.peers.hold_passes(true);
    let asked = office.ask(office.giver.call("ann", "a").await).await;
    let cancel = Command::CancelAcquire { session: "ann".into(), attached: None, names: lab_name("a") };
    office.writer.ask(cancel).await.expect("cancelled");
    office.peers.hold_passes(false);
    let rejected = within(GIVES_UP, asked).await.expect("ran").map(drop);
    assert_eq!(rejected, Err(Refusal::Rejected(Rejection::AcquireCancelled { session: "ann".into() })));
    assert_eq!(office.writer.holder("a").await, None, "no ghost");
    assert_eq!(office.writer.holder("b").await, Some(("ann".to_owned(), held)), "nothing else is cancelled");
    // Requests that the server receives from now on are newer than the cancel.
    let again = office.ask(office.giver.call("ann", "a").await).await;
    token(within(GIVES_UP, again).await.expect("ran"));
}

#[tokio::test(start_paused = true)]
async fn servers_that_pass_to_each_other_at_once_come_to_one_order() {
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
    let mut last = Revision(0);
    for batch in database.log("default") {
        assert_eq!(batch.previous, last);
        for recorded in &batch.events {
            assert_eq!(recorded.revision, last.next());
            last = recorded.revision;
        }
    }
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

fn lab_name(name: &str) -> tenure_core::Names {
    tenure_core::Text::from(name).into()
}
