//! Sessions with a disconnect grace, when clients, servers and connections end.

use crate::support;

use std::time::{Duration, Instant};

use support::{Cluster, state_change, until, watching, within};
use tenure_client::v1::{self, EndReason, watch_response::Kind};
use tenure_client::{Client, LockRequest, LostReason};
use tenure_harness::Yardstick;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

/// Exceeds the duration of any test: a holder replaced earlier was replaced by its grace.
const TTL: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(1);

/// For tests in which a client has to renew or to reconnect in time, on a busy machine.
const LONG_GRACE: Duration = Duration::from_secs(3);

fn lock(client: &Client, grace: Duration) -> LockRequest {
    client.lock("job").ttl(TTL).disconnect_grace(grace)
}

/// Waits for the hold with this token to end, and returns the reason.
async fn end_of_hold(client: &Client, token: u64) -> EndReason {
    let mut watch = client.watch(v1::WatchRequest { after_revision: token, ..watching("job") });
    within(async {
        loop {
            let response = watch.next().await.expect("the stream goes on").expect("watched");
            if let Some(Kind::Events(batch)) = response.kind
                && let Some(ended) = batch.events.iter().find(|event| event.end_reason != 0)
            {
                return ended.end_reason();
            }
        }
    })
    .await
}

/// A program that acquires the lock and crashes.
fn crash_holding(options: tenure_client::ClientOptions) -> anyhow::Result<u64> {
    let program = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let guard = program.block_on(async { lock(&options.connect()?, LONG_GRACE).acquire().await })?;
    let token = guard.token();
    program.shutdown_background();
    // No code of the program runs any more, so nothing is released either.
    std::mem::forget(guard);
    Ok(token)
}

#[tokio::test(flavor = "multi_thread")]
async fn crashed_holder_is_replaced_after_its_grace() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let options = cluster.options();
    let token = tokio::task::spawn_blocking(move || crash_holding(options)).await??;
    let crashed = Instant::now();
    let guard = within(lock(&client, LONG_GRACE).acquire()).await?;
    assert!(crashed.elapsed() < LONG_GRACE * 3, "it took {:?}", crashed.elapsed());
    assert!(guard.token() > token);
    assert_eq!(end_of_hold(&client, token).await, EndReason::Disconnected);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_survives_a_disconnect_shorter_than_the_grace() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let guard = within(lock(&client, LONG_GRACE).acquire()).await?;
    for _ in 0..2 {
        cluster.relay(0).interrupt().await;
        let lost = tokio::time::timeout(LONG_GRACE * 2, guard.lost()).await;
        assert!(lost.is_err(), "lost: {lost:?}");
    }
    let session = client.get_session(guard.session().id()).await?;
    assert_eq!(session.disconnect_grace, Some(to_wire(LONG_GRACE)));
    assert_eq!(session.claims[0].token, guard.token());
    within(guard.release()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_disconnected_for_longer_is_lost_before_the_next_grant() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let holder = cluster.client()?;
    // The waiter bypasses the relays, so that only the holder is cut off.
    let waiter = Client::connect(cluster.direct_url(0))?;
    let guard = within(lock(&holder, LONG_GRACE).acquire()).await?;
    let hold = guard.hold();
    let acquire = lock(&waiter, LONG_GRACE).acquire();
    let next = tokio::spawn({
        let hold = hold.clone();
        async move { acquire.await.map(|next| (next, hold.is_valid())) }
    });
    within(async {
        while waiter.get_lock("job").await.expect("read").waiter_count == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    cluster.relay(0).cut();
    cluster.relay(1).cut();
    let cut = Instant::now();
    assert_eq!(within(hold.lost()).await, LostReason::Unrenewed);
    let (next, was_valid) = within(next).await??;
    assert!(!was_valid, "granted while the hold was valid");
    assert!(cut.elapsed() < LONG_GRACE * 3, "it took {:?}", cut.elapsed());
    assert!(next.token() > hold.token());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn client_fails_over_within_the_grace() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let guard = within(lock(&client, LONG_GRACE).acquire()).await?;
    let home = client.get_session(guard.session().id()).await?.home;
    cluster.relay(cluster.serving().await).cut();
    let lost = tokio::time::timeout(LONG_GRACE * 2, guard.lost()).await;
    assert!(lost.is_err(), "lost: {lost:?}");
    let session = client.get_session(guard.session().id()).await?;
    assert_ne!(session.home, home);
    assert_eq!(session.claims[0].token, guard.token());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn drain_ends_no_session() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let guard = within(lock(&client, LONG_GRACE).acquire()).await?;
    let change = state_change(guard.session());
    let serving = cluster.serving().await;
    within(cluster.drain(serving)).await;
    let lost = tokio::time::timeout(LONG_GRACE * 2, guard.lost()).await;
    assert!(lost.is_err(), "lost: {lost:?}");
    assert!(!change.is_finished(), "at risk: {:?}", change.await?);
    within(guard.release()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn body_is_cancelled_after_a_silence_of_the_grace() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let (started, has_started) = tokio::sync::oneshot::channel();
    let body = lock(&client, LONG_GRACE).run(move |_| async move {
        let _ = started.send(());
        std::future::pending::<()>().await
    });
    let body = tokio::spawn(body);
    within(has_started).await?;
    // The connection stays open, but transmits nothing.
    cluster.relay(0).freeze();
    let (frozen, yardstick) = (Instant::now(), Yardstick::start());
    assert!(matches!(within(body).await?, Err(tenure_client::Error::Lost(LostReason::Unrenewed))));
    yardstick.assert_in_time(&[frozen.elapsed()], LONG_GRACE);
    Ok(())
}

fn to_wire(duration: Duration) -> prost_types::Duration {
    prost_types::Duration::try_from(duration).expect("short")
}

/// A stream as any program may open it, without the client library.
struct RawStream {
    commands: mpsc::Sender<v1::StreamRequest>,
    answers: Streaming<v1::StreamResponse>,
    last: u64,
}

impl RawStream {
    async fn open(url: &str) -> anyhow::Result<Self> {
        let (commands, outgoing) = mpsc::channel(1);
        let mut service = ClientServiceClient::new(tonic::transport::Endpoint::new(url.to_owned())?.connect().await?);
        let answers = service.stream(ReceiverStream::new(outgoing)).await?.into_inner();
        Ok(Self { commands, answers, last: 0 })
    }

    async fn command(&mut self, kind: Commanded) -> anyhow::Result<Answered> {
        self.last += 1;
        let command = v1::Command { id: self.last, kind: Some(kind), ..v1::Command::default() };
        self.commands.send(v1::StreamRequest { commands: vec![command] }).await?;
        loop {
            let answers = within(self.answers.message()).await?.expect("the stream goes on").answers;
            if let Some(answer) = answers.into_iter().find(|answer| answer.id == self.last) {
                return Ok(answer.kind.expect("a kind"));
            }
        }
    }

    async fn session(&mut self, id: &str, grace: Option<Duration>) -> anyhow::Result<()> {
        let request = v1::OpenSessionRequest {
            session_id: id.to_owned(),
            ttl: Some(to_wire(TTL)),
            disconnect_grace: grace.map(to_wire),
            ..v1::OpenSessionRequest::default()
        };
        let opened = self.command(Commanded::OpenSession(request)).await?;
        assert!(matches!(opened, Answered::OpenSession(_)), "{opened:?}");
        Ok(())
    }

    async fn attach(&mut self, id: &str) -> anyhow::Result<Answered> {
        let session_id = id.to_owned();
        self.command(Commanded::AttachSession(v1::AttachSession { session_id, ..v1::AttachSession::default() })).await
    }
}

/// How long a session still lives from now on.
async fn lifetime(client: &Client, id: &str) -> Duration {
    let start = Instant::now();
    until("it ends", async || client.get_session(id).await.is_err()).await;
    start.elapsed()
}

/// Whether a session still lives after a time that far exceeds its grace.
async fn outlives_its_grace(client: &Client, id: &str) -> bool {
    tokio::time::sleep(GRACE * 3).await;
    client.get_session(id).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ended_by_the_client_is_a_disconnect() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = Client::connect(cluster.direct_url(0))?;
    for way in ["finished", "dropped", "cut"] {
        let mut stream = RawStream::open(&cluster.relay(0).url()).await?;
        let (graced, other) = (format!("{way} graced"), format!("{way} other"));
        stream.session(&graced, Some(GRACE)).await?;
        stream.session(&other, None).await?;
        let RawStream { commands, answers, .. } = stream;
        // Values dropped here end the stream; values kept in `_kept` do not.
        let _kept = match way {
            "finished" => {
                drop(commands);
                (None, Some(answers))
            }
            "dropped" => {
                drop((commands, answers));
                (None, None)
            }
            _ => {
                cluster.relay(0).interrupt().await;
                (Some(commands), Some(answers))
            }
        };
        let lived = lifetime(&client, &graced).await;
        assert!(lived > GRACE / 2, "{way}: {lived:?}");
        client.get_session(&other).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn session_ends_with_the_last_stream_it_was_attached_to() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = Client::connect(cluster.direct_url(0))?;
    let (mut first, mut second) =
        (RawStream::open(&cluster.direct_url(0)).await?, RawStream::open(&cluster.direct_url(0)).await?);
    first.session("ann", Some(GRACE)).await?;
    let attached = second.attach("ann").await?;
    assert!(matches!(attached, Answered::AttachedSession(_)), "{attached:?}");
    drop(first);
    assert!(outlives_its_grace(&client, "ann").await);
    drop(second);
    lifetime(&client, "ann").await;
    // An ended session cannot be revived, and the rejection names the reason for its end.
    let mut third = RawStream::open(&cluster.direct_url(0)).await?;
    let Answered::Refusal(refusal) = third.attach("ann").await? else { panic!("it was revived") };
    assert_eq!((refusal.reason.as_str(), refusal.metadata["end_reason"].as_str()), ("SESSION_ENDED", "disconnected"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn renew_call_grants_the_ttl_after_the_end_of_the_stream() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = Client::connect(cluster.direct_url(0))?;
    let mut stream = RawStream::open(&cluster.direct_url(0)).await?;
    stream.session("ann", Some(GRACE)).await?;
    within(client.renew("ann")).await?;
    drop(stream);
    assert!(outlives_its_grace(&client, "ann").await);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn server_unaware_of_a_move_accepts_the_session_again() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = Client::connect(cluster.direct_url(1))?;
    let mut first = RawStream::open(&cluster.direct_url(0)).await?;
    first.session("ann", Some(GRACE)).await?;
    cluster.set_connected(0, false);
    let mut second = RawStream::open(&cluster.direct_url(1)).await?;
    second.attach("ann").await?;
    // For the first server, the session has expired.
    drop(first);
    assert!(outlives_its_grace(&client, "ann").await);
    let mut back = RawStream::open(&cluster.direct_url(0)).await?;
    cluster.set_connected(0, true);
    let attached = back.attach("ann").await?;
    assert!(matches!(attached, Answered::AttachedSession(_)), "{attached:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn session_opened_by_an_acquire_ends_with_its_stream() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = Client::connect(cluster.direct_url(0))?;
    let mut stream = RawStream::open(&cluster.direct_url(0)).await?;
    let request = v1::AcquireRequest {
        names: vec!["job".to_owned()],
        session_id: "ann".to_owned(),
        ttl: Some(to_wire(TTL)),
        disconnect_grace: Some(to_wire(GRACE)),
        ..v1::AcquireRequest::default()
    };
    let answer = stream.command(Commanded::Acquire(request)).await?;
    assert!(matches!(&answer, Answered::Acquire(answer) if answer.acquired), "{answer:?}");
    drop(stream);
    lifetime(&client, "ann").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ended_during_a_drain_is_no_disconnect() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    let client = Client::connect(cluster.direct_url(1))?;
    let mut stream = RawStream::open(&cluster.direct_url(0)).await?;
    stream.session("ann", Some(GRACE)).await?;
    // Another client takes longer to disconnect, so that the server stays up for longer than the grace.
    let mut other = RawStream::open(&cluster.direct_url(0)).await?;
    other.session("bob", None).await?;
    let drained = async {
        let notices = within(stream.answers.message()).await?.expect("the stream goes on").answers;
        assert!(matches!(notices[0].kind, Some(Answered::GoingAway(_))), "{notices:?}");
        drop(stream);
        let is_open = outlives_its_grace(&client, "ann").await;
        drop(other);
        Ok::<_, anyhow::Error>(is_open)
    };
    let (is_open, ()) = tokio::join!(drained, within(cluster.drain(0)));
    assert!(is_open?);
    Ok(())
}
