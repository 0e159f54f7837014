//! Sessions whose stream ends, with a clock that the test controls.

use crate::lab;

use std::time::Duration;

use lab::{LEASE, SOON, Server, TTL, eventually, pass, settle, within};
use tenure_core::testing::{Build, acquire, close, open};
use tenure_core::{EndReason, Rejection, RenewError, Revision, StreamId};
use tenure_server::sequencer::{Notice, NoticeSender, StreamEnd, WaitEnd};
use tokio::sync::mpsc;
use tokio::time::Instant;

const GRACE: Duration = Duration::from_millis(300);

/// A client's stream to a server, without the transport.
struct Stream {
    id: StreamId,
    _notices: mpsc::Receiver<Box<Notice>>,
}

impl Stream {
    async fn open(server: &Server) -> Self {
        let (notices, _notices) = NoticeSender::new(16);
        let id = server.node.next_stream();
        server.namespace().await.open_stream(id, notices);
        Self { id, _notices }
    }

    /// Opens a session with a disconnect grace, attached to this stream.
    async fn hold(&self, server: &Server, session: &str, name: &str) -> Revision {
        open_session(server, session).await;
        self.attach(server, session).await.expect("at home");
        server.hold_by(acquire(session, name).in_open_session().at(server.node.id)).await
    }

    async fn attach(&self, server: &Server, session: &str) -> Result<(), RenewError> {
        server.namespace().await.attach(&session.into(), self.id)
    }

    async fn end(&self, server: &Server, end: StreamEnd) {
        server.namespace().await.close_stream(self.id, end);
    }
}

/// Opens a session with a disconnect grace.
async fn open_session(server: &Server, session: &str) {
    server.ask(open(session).ttl(TTL).grace(GRACE).at(server.node.id)).await.expect("opened");
}

/// How long ann's session still lives from now on.
async fn lives_on(server: &Server) -> Duration {
    eventually(TTL * 2, "the session has ended", async || !server.is_open("ann").await).await
}

#[tokio::test(start_paused = true)]
async fn lock_of_a_disconnected_holder_is_granted_to_the_waiter_after_its_grace() {
    let server = Server::alone().await;
    let stream = Stream::open(&server).await;
    let token = stream.hold(&server, "ann", "a").await;
    let mut bob = server.queue("bob", "a").await;
    stream.end(&server, StreamEnd::Disconnect).await;
    let disconnected_at = Instant::now();
    let end = within(TTL, bob.wait()).await;
    let took = disconnected_at.elapsed();
    assert!(took >= GRACE && took <= GRACE + SOON, "{took:?}");
    assert!(matches!(end, Some(WaitEnd::Granted(claim)) if claim.token() > Some(token)));
    bob.acknowledge();
    let late = server.attach("ann").await;
    let disconnected = Rejection::SessionEnded { session: "ann".into(), reason: EndReason::Disconnected };
    assert_eq!(late.map(|_| ()), Err(disconnected));
}

#[tokio::test(start_paused = true)]
async fn session_attached_again_within_its_grace_keeps_its_holds() {
    let server = Server::alone().await;
    let (first, second) = (Stream::open(&server).await, Stream::open(&server).await);
    let token = first.hold(&server, "ann", "a").await;
    first.end(&server, StreamEnd::Disconnect).await;
    pass(GRACE - Duration::from_millis(10)).await;
    second.attach(&server, "ann").await.expect("in time");
    pass(TTL / 2).await;
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
    // From then on only the new stream counts.
    second.end(&server, StreamEnd::Disconnect).await;
    let lived = lives_on(&server).await;
    assert!(lived >= GRACE && lived <= GRACE + SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn stream_closed_by_the_server_ends_no_session() {
    let server = Server::alone().await;
    let stream = Stream::open(&server).await;
    stream.hold(&server, "ann", "a").await;
    stream.end(&server, StreamEnd::Closed).await;
    let lived = lives_on(&server).await;
    assert!(lived >= TTL - SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn stream_of_a_slow_reader_is_closed_without_a_disconnect() {
    let server = Server::alone().await;
    let (notices, _unread) = NoticeSender::new(1);
    let closed = notices.closed().clone();
    let stream = server.node.next_stream();
    let namespace = server.namespace().await;
    namespace.open_stream(stream, notices);
    for session in ["ann", "bob", "cid"] {
        open_session(&server, session).await;
        namespace.attach(&session.into(), stream).expect("at home");
    }
    for session in ["bob", "cid"] {
        server.ask(close(session)).await.expect("closed");
    }
    assert!(!namespace.has_stream(stream) && closed.is_cancelled(), "the queue is full at the second notice");
    // The session stays attached to this stream until the stream has ended.
    assert_eq!(namespace.attach(&"ann".into(), stream), Ok(()));
    namespace.close_stream(stream, StreamEnd::Closed);
    pass(GRACE * 2).await;
    assert!(server.is_open("ann").await);
}

#[tokio::test(start_paused = true)]
async fn stream_that_ends_while_a_session_is_opened_on_it_starts_the_grace() {
    let server = Server::alone().await;
    let stream = Stream::open(&server).await;
    open_session(&server, "ann").await;
    stream.end(&server, StreamEnd::Disconnect).await;
    assert_eq!(stream.attach(&server, "ann").await, Err(RenewError::NotAttached));
    let lived = lives_on(&server).await;
    assert!(lived >= GRACE && lived <= GRACE + SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn session_that_moved_does_not_end_with_its_old_stream() {
    let (_database, first, second) = Server::pair().await;
    let (old, new) = (Stream::open(&first).await, Stream::open(&second).await);
    let token = old.hold(&first, "ann", "a").await;
    second.attach("ann").await.expect("open");
    new.attach(&second, "ann").await.expect("at home");
    // The first server may learn of the end of the stream before it learns of the move.
    old.end(&first, StreamEnd::Disconnect).await;
    pass(GRACE * 2).await;
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn session_that_moved_is_not_ended_by_a_server_that_has_not_observed_it() {
    let (_database, first, second) = Server::pair().await;
    let (old, new) = (Stream::open(&first).await, Stream::open(&second).await);
    let token = old.hold(&first, "ann", "a").await;
    first.store.set_connected(false);
    old.end(&first, StreamEnd::Disconnect).await;
    second.attach("ann").await.expect("open");
    new.attach(&second, "ann").await.expect("at home");
    pass(GRACE * 2).await;
    assert_eq!(old.attach(&first, "ann").await, Err(RenewError::NotAttached));
    first.store.set_connected(true);
    pass(GRACE).await;
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)));
    assert!(second.is_open("ann").await);
}

#[tokio::test(start_paused = true)]
async fn sessions_of_a_killed_server_have_their_full_ttl_at_the_next_one() {
    let (_database, first, second) = Server::pair().await;
    let stream = Stream::open(&first).await;
    stream.hold(&first, "ann", "a").await;
    first.kill();
    eventually(LEASE + TTL, "adopted", async || second.namespace().await.remaining("ann").is_some()).await;
    assert!(second.namespace().await.remaining("ann").expect("kept") >= TTL - SOON);
    let lived = lives_on(&second).await;
    assert!(lived >= TTL - SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn grace_does_not_pass_while_the_server_has_no_lease() {
    let (database, server) = Server::with_database().await;
    let (stream, next) = (Stream::open(&server).await, Stream::open(&server).await);
    let token = stream.hold(&server, "ann", "a").await;
    database.set_available(false);
    let namespace = server.namespace().await;
    let lease_lost = async {
        loop {
            if namespace.keep_alive(["ann"], stream.id) == Err(Rejection::LeaseLost) {
                return;
            }
            tokio::time::sleep(TTL / 4).await;
        }
    };
    within(LEASE * 2, lease_lost).await;
    stream.end(&server, StreamEnd::Disconnect).await;
    tokio::time::advance(LEASE * 3).await;
    settle().await;
    database.set_available(true);
    eventually(SOON * 20, "the lease is regained", async || server.node.lease.tick().is_some()).await;
    next.attach(&server, "ann").await.expect("its grace has just begun");
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn end_by_disconnect_is_written_after_an_outage_of_the_store() {
    let (database, server) = Server::with_database().await;
    let (stream, next) = (Stream::open(&server).await, Stream::open(&server).await);
    stream.hold(&server, "ann", "a").await;
    database.set_available(false);
    stream.end(&server, StreamEnd::Disconnect).await;
    pass(GRACE + SOON).await;
    assert_eq!(next.attach(&server, "ann").await, Err(RenewError::Ended(EndReason::Disconnected)));
    database.set_available(true);
    eventually(Duration::from_secs(1), "ended", async || !server.is_open("ann").await).await;
}
