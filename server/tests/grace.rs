//! Clients whose stream ends, with a clock that the test controls.

use crate::lab;

use std::time::Duration;

use lab::{LEASE, SOON, Server, TTL, eventually, held, pass, settle, within};
use tenure_core::testing::{Build, change, connect, declaration, declared_claim};
use tenure_core::{Change, Command, Rejection, Revision, Text};
use tenure_server::sequencer::{Mailbox, StreamEnd, WaitEnd};
use tokio::time::Instant;

const GRACE: Duration = Duration::from_millis(300);

/// The stream of a client with a session "ann", which has a disconnect grace, to a server; without the transport.
struct Stream<'a> {
    server: &'a Server,
    epoch: u64,
    mailbox: Mailbox,
}

impl<'a> Stream<'a> {
    /// Connects with this epoch, knowing of what has these numbers.
    async fn open(server: &'a Server, epoch: u64, known: &[u64]) -> Result<Self, Rejection> {
        let mailbox = Mailbox::default();
        server.namespace().await.register_client(&client(), epoch, &mailbox);
        server.ask(connect(client(), epoch).known(known.to_vec()).at(server.node.id)).await?;
        Ok(Self { server, epoch, mailbox })
    }

    /// Connects with a session and a hold of "a". Returns the token.
    async fn holding(server: &'a Server) -> (Self, Revision) {
        let stream = Self::open(server, 1, &[]).await.expect("welcome");
        let mut declared = declaration(1).opens("ann").claims(declared_claim(2, "a"));
        let session = declared.opening.as_mut().expect("opens");
        (session.disconnect_grace, session.opening.ttl) = (Some(GRACE), TTL);
        stream.ask(Change::Declare(declared)).await;
        let (holder, token) = server.holder("a").await.expect("held");
        assert_eq!(holder, "ann");
        (stream, token)
    }

    async fn ask(&self, asked: Change) {
        let mut command = change(client(), self.epoch, [asked]);
        if let Command::Change { home, .. } = &mut command {
            *home = self.server.node.id;
        }
        self.server.ask(command).await.expect("decided");
    }

    async fn renew(&self) -> Result<bool, Rejection> {
        self.server.namespace().await.renew_client(&client(), self.epoch)
    }

    async fn end(self, end: StreamEnd) {
        self.server.namespace().await.disconnect_client(&client(), self.epoch, &self.mailbox, end);
    }
}

fn client() -> Text {
    "client".into()
}

/// How long ann's session still lives from now on.
async fn lives_on(server: &Server) -> Duration {
    eventually(TTL * 2, "the session has ended", async || !server.is_open("ann").await).await
}

#[tokio::test(start_paused = true)]
async fn lock_of_a_disconnected_holder_is_granted_to_the_waiter_after_its_grace() {
    let server = Server::alone().await;
    let (stream, token) = Stream::holding(&server).await;
    let mut bob = server.queue("bob", "a").await;
    stream.end(StreamEnd::Disconnect).await;
    let disconnected_at = Instant::now();
    let end = within(TTL, bob.wait()).await;
    let took = disconnected_at.elapsed();
    assert!(took >= GRACE && took <= GRACE + SOON, "{took:?}");
    assert!(matches!(end, Some(WaitEnd::Granted(claim)) if claim.token() > Some(token)));
    bob.acknowledge();
    Stream::open(&server, 2, &[1, 2]).await.expect("welcome");
    assert!(!server.is_open("ann").await, "nothing revives it");
}

#[tokio::test(start_paused = true)]
async fn client_that_connects_again_within_the_grace_keeps_its_holds() {
    let server = Server::alone().await;
    let (first, token) = Stream::holding(&server).await;
    first.end(StreamEnd::Disconnect).await;
    pass(GRACE - Duration::from_millis(10)).await;
    let second = Stream::open(&server, 2, &[1, 2]).await.expect("in time");
    pass(TTL / 2).await;
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
    // From then on only the new stream counts.
    second.end(StreamEnd::Disconnect).await;
    let lived = lives_on(&server).await;
    assert!(lived >= GRACE && lived <= GRACE + SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn stream_closed_by_the_server_ends_no_session() {
    let server = Server::alone().await;
    let (stream, _) = Stream::holding(&server).await;
    stream.end(StreamEnd::Closed).await;
    let lived = lives_on(&server).await;
    assert!(lived >= TTL - SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn client_that_moved_is_not_ended_by_a_server_that_has_not_observed_it() {
    let (_database, first, second) = Server::pair().await;
    let (old, token) = Stream::holding(&first).await;
    first.store.set_connected(false);
    let new = Stream::open(&second, 2, &[1, 2]).await.expect("welcome");
    // The first server learns of the end of the stream before it learns of the move.
    old.end(StreamEnd::Disconnect).await;
    for _ in 0..4 {
        pass(GRACE / 2).await;
        assert_eq!(new.renew().await, Ok(true));
    }
    first.store.set_connected(true);
    pass(GRACE).await;
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)));
    assert!(second.is_open("ann").await);
}

#[tokio::test(start_paused = true)]
async fn sessions_of_a_killed_server_have_their_full_ttl_at_the_next_one() {
    let (_database, first, second) = Server::pair().await;
    let (_stream, _) = Stream::holding(&first).await;
    first.kill();
    eventually(LEASE + TTL, "adopted", async || second.namespace().await.remaining("ann").is_some()).await;
    assert!(second.namespace().await.remaining("ann").expect("kept") >= TTL - SOON);
    let lived = lives_on(&second).await;
    assert!(lived >= TTL - SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn grace_does_not_pass_while_the_server_has_no_lease() {
    let (database, server) = Server::with_database().await;
    let (stream, token) = Stream::holding(&server).await;
    database.set_available(false);
    let lease_lost = async {
        while stream.renew().await != Err(Rejection::LeaseLost) {
            tokio::time::sleep(TTL / 4).await;
        }
    };
    within(LEASE * 2, lease_lost).await;
    stream.end(StreamEnd::Disconnect).await;
    tokio::time::advance(LEASE * 3).await;
    settle().await;
    database.set_available(true);
    eventually(SOON * 20, "the lease is regained", async || server.node.lease.tick().is_some()).await;
    Stream::open(&server, 2, &[1, 2]).await.expect("its grace has just begun");
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn end_by_disconnect_is_written_after_an_outage_of_the_store() {
    let (database, server) = Server::with_database().await;
    let (stream, _) = Stream::holding(&server).await;
    database.set_available(false);
    stream.end(StreamEnd::Disconnect).await;
    pass(GRACE + SOON).await;
    database.set_available(true);
    eventually(Duration::from_secs(1), "ended", async || !server.is_open("ann").await).await;
    held(server.ask(server.acquire("bob", "a")).await);
}
