//! Sessions whose stream ends, with a clock that the test controls.

use crate::lab;

use std::time::Duration;

use lab::{LEASE, Server, TTL, eventually, pass, settle, within};
use tenure_core::{Command, EndReason, Opening, Rejection, RenewError, Revision, StreamId, Text};
use tenure_server::sequencer::{Notice, NoticeSender, Refusal, StreamEnd, WaitEnd};
use tenure_server::store::MemoryDatabase;
use tokio::sync::mpsc;
use tokio::time::Instant;

const GRACE: Duration = Duration::from_millis(300);
const SOON: Duration = Duration::from_millis(50);

/// A client's stream to a server, without the transport.
struct Stream {
    id: StreamId,
    _told: mpsc::Receiver<Box<Notice>>,
}

impl Stream {
    async fn open(server: &Server) -> Self {
        let (notices, _told) = NoticeSender::new(16);
        let id = server.node.next_stream();
        server.namespace().await.open_stream(id, notices);
        Self { id, _told }
    }

    /// Opens a session with a disconnect grace, attached to this stream.
    async fn hold(&self, server: &Server, session: &str, name: &str) -> Revision {
        self.open_session(server, session, Some(GRACE)).await;
        self.attach(server, session).await.expect("at home");
        server.hold_by(server.acquire_in(session, None, name)).await
    }

    async fn open_session(&self, server: &Server, session: &str, grace: Option<Duration>) {
        let (owner, metadata) = (Text::from("lab"), Default::default());
        let opening = Opening { ttl: TTL, disconnect_grace: grace, owner, metadata, identity: None };
        let open = Command::OpenSession {
            session: session.into(),
            opening,
            home: server.node.id(),
            attachment: 0,
            client: None,
        };
        server.ask(open).await.expect("opened");
    }

    async fn attach(&self, server: &Server, session: &str) -> Result<(), RenewError> {
        server.namespace().await.attach(&session.into(), self.id)
    }

    async fn end(&self, server: &Server, end: StreamEnd) {
        server.namespace().await.close_stream(self.id, end);
    }
}

/// How long ann's session still lives from now on.
async fn lives_on(server: &Server) -> Duration {
    eventually(TTL * 2, "it has ended", async || !server.is_open("ann").await).await
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_holder_is_replaced_after_its_grace() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let stream = Stream::open(&server).await;
    let token = stream.hold(&server, "ann", "a").await;
    let waiting = server.ask(server.acquire("bob", "a")).await.expect("queued");
    let mut bob = waiting.pending.expect("waits");
    stream.end(&server, StreamEnd::Disconnect).await;
    let broke = Instant::now();
    let end = within(TTL, bob.wait()).await;
    let took = broke.elapsed();
    assert!(took >= GRACE && took <= GRACE + SOON, "{took:?}");
    assert!(matches!(end, Some(WaitEnd::Granted(claim)) if claim.token() > Some(token)));
    bob.acknowledge();
    let late = server
        .ask(Command::AttachSession { session: "ann".into(), home: server.node.id(), attachment: 0, client: None })
        .await;
    let disconnected = Rejection::SessionEnded { session: "ann".into(), reason: EndReason::Disconnected };
    assert_eq!(late.map(|_| ()), Err(Refusal::Rejected(disconnected)));
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_within_the_grace_loses_nothing() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
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
async fn the_end_of_a_stream_by_the_servers_doing_ends_no_session() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let stream = Stream::open(&server).await;
    stream.hold(&server, "ann", "a").await;
    stream.end(&server, StreamEnd::Closed).await;
    let lived = lives_on(&server).await;
    assert!(lived >= TTL - SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_too_slow_is_closed_and_not_disconnected() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let (notices, _unread) = NoticeSender::new(1);
    let closed = notices.closed().clone();
    let stream = server.node.next_stream();
    let namespace = server.namespace().await;
    namespace.open_stream(stream, notices);
    for session in ["ann", "bob", "cid"] {
        let other = Stream::open(&server).await;
        other.open_session(&server, session, Some(GRACE)).await;
        namespace.attach(&session.into(), stream).expect("at home");
    }
    for session in ["bob", "cid"] {
        server.ask(Command::CloseSession { session: session.into(), client: None }).await.expect("closed");
    }
    assert!(!namespace.has_stream(stream) && closed.is_cancelled(), "there was no room for the second notice");
    // The session stays attached to this stream until the stream has ended.
    assert_eq!(namespace.attach(&"ann".into(), stream), Ok(()));
    namespace.close_stream(stream, StreamEnd::Closed);
    pass(GRACE * 2).await;
    assert!(server.is_open("ann").await);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_while_a_session_is_opened_on_it_is_a_disconnect() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let stream = Stream::open(&server).await;
    stream.open_session(&server, "ann", Some(GRACE)).await;
    stream.end(&server, StreamEnd::Disconnect).await;
    assert_eq!(stream.attach(&server, "ann").await, Err(RenewError::NotAttached));
    let lived = lives_on(&server).await;
    assert!(lived >= GRACE && lived <= GRACE + SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_moved_to_another_server_does_not_end_with_its_old_stream() {
    let database = MemoryDatabase::new();
    let (first, second) = (Server::start(&database).await, Server::start(&database).await);
    let (old, new) = (Stream::open(&first).await, Stream::open(&second).await);
    let token = old.hold(&first, "ann", "a").await;
    second
        .ask(Command::AttachSession { session: "ann".into(), home: second.node.id(), attachment: 0, client: None })
        .await
        .expect("open");
    new.attach(&second, "ann").await.expect("at home");
    // The first server may learn of the end of the stream before it learns of the move.
    old.end(&first, StreamEnd::Disconnect).await;
    pass(GRACE * 2).await;
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_not_heard_of_a_move_ends_nothing() {
    let database = MemoryDatabase::new();
    let (first, second) = (Server::start(&database).await, Server::start(&database).await);
    let (old, new) = (Stream::open(&first).await, Stream::open(&second).await);
    let token = old.hold(&first, "ann", "a").await;
    first.store.set_connected(false);
    old.end(&first, StreamEnd::Disconnect).await;
    second
        .ask(Command::AttachSession { session: "ann".into(), home: second.node.id(), attachment: 0, client: None })
        .await
        .expect("open");
    new.attach(&second, "ann").await.expect("at home");
    pass(GRACE * 2).await;
    assert_eq!(old.attach(&first, "ann").await, Err(RenewError::NotAttached));
    first.store.set_connected(true);
    pass(GRACE).await;
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)));
    assert!(second.is_open("ann").await);
}

#[tokio::test(start_paused = true)]
async fn the_sessions_of_a_killed_server_have_their_full_ttl_at_the_next_one() {
    let database = MemoryDatabase::new();
    let (first, second) = (Server::start(&database).await, Server::start(&database).await);
    let stream = Stream::open(&first).await;
    stream.hold(&first, "ann", "a").await;
    first.kill();
    eventually(LEASE + TTL, "adopted", async || second.namespace().await.remaining("ann").is_some()).await;
    assert!(second.namespace().await.remaining("ann").expect("kept") >= TTL - SOON);
    let lived = lives_on(&second).await;
    assert!(lived >= TTL - SOON, "{lived:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grace_stands_still_while_the_server_cannot_serve() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let (stream, back) = (Stream::open(&server).await, Stream::open(&server).await);
    let token = stream.hold(&server, "ann", "a").await;
    database.set_available(false);
    let namespace = server.namespace().await;
    let kept = async {
        loop {
            if namespace.keep_alive(["ann"], stream.id) == Err(Refusal::LeaseLost) {
                return;
            }
            tokio::time::sleep(TTL / 4).await;
        }
    };
    within(LEASE * 2, kept).await;
    stream.end(&server, StreamEnd::Disconnect).await;
    tokio::time::advance(LEASE * 3).await;
    settle().await;
    database.set_available(true);
    eventually(SOON * 20, "it serves again", async || server.node.lease().tick().is_some()).await;
    back.attach(&server, "ann").await.expect("its grace has just begun");
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn the_end_is_written_even_if_the_store_was_away_when_it_was_due() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let (stream, back) = (Stream::open(&server).await, Stream::open(&server).await);
    stream.hold(&server, "ann", "a").await;
    database.set_available(false);
    stream.end(&server, StreamEnd::Disconnect).await;
    pass(GRACE + SOON).await;
    assert_eq!(back.attach(&server, "ann").await, Err(RenewError::Ended(EndReason::Disconnected)));
    database.set_available(true);
    eventually(Duration::from_secs(1), "ended", async || !server.is_open("ann").await).await;
}
