//! Sessions with a disconnect grace, when clients, servers and connections end.

use crate::support;

use std::time::{Duration, Instant};

use support::{Cluster, state_change, until, watching, within};
use tenure_client::v1::{self, EndReason, watch_response::Kind};
use tenure_client::{Client, LockRequest, LostReason};
use tenure_harness::Yardstick;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
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

/// A client's stream as any program may open it, without the client library.
struct RawStream {
    requests: mpsc::Sender<v1::ConnectRequest>,
    responses: Streaming<v1::ConnectResponse>,
}

impl RawStream {
    /// Connects the client of a session, which it declares by the number 1 in its first epoch.
    async fn connect(url: &str, session: &str, grace: Option<Duration>, epoch: u64) -> anyhow::Result<Self> {
        let open = v1::DeclaredSession {
            session_id: session.to_owned(),
            ttl: Some(to_wire(TTL)),
            disconnect_grace: grace.map(to_wire),
            ..v1::DeclaredSession::default()
        };
        let declaration = v1::Declaration { session: 1, open: Some(open), ..v1::Declaration::default() };
        let (declared, known) = if epoch == 1 { (vec![declaration], vec![]) } else { (vec![], vec![1]) };
        let client_id = format!("the client of {session}");
        let hello = v1::Hello { client_id, epoch, known, declared, ..v1::Hello::default() };
        let (requests, outgoing) = mpsc::channel(1);
        requests.send(v1::ConnectRequest { kind: Some(v1::connect_request::Kind::Hello(hello)) }).await?;
        let mut service = ClientServiceClient::new(tonic::transport::Endpoint::new(url.to_owned())?.connect().await?);
        let responses = service.connect(ReceiverStream::new(outgoing)).await?.into_inner();
        Ok(Self { requests, responses })
    }

    /// As [`connect`](Self::connect), with a session that is open then.
    async fn open(url: &str, session: &str, grace: Option<Duration>, epoch: u64) -> anyhow::Result<Self> {
        let mut stream = Self::connect(url, session, grace, epoch).await?;
        let state = stream.state().await?;
        assert!(matches!(state, State::Open(_)), "{state:?}");
        Ok(stream)
    }

    async fn next(&mut self) -> anyhow::Result<Received> {
        Ok(within(self.responses.message()).await?.expect("the stream goes on").kind.expect("content"))
    }

    /// The next state of the session.
    async fn state(&mut self) -> anyhow::Result<State> {
        loop {
            if let Received::States(states) = self.next().await?
                && let Some(state) = states.states.into_iter().find(|state| state.number == 1)
            {
                return Ok(state.kind.expect("a state"));
            }
        }
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
        let (graced, other) = (format!("{way} graced"), format!("{way} other"));
        let (url, direct) = (cluster.relay(0).url(), cluster.direct_url(0));
        let RawStream { requests, responses } = RawStream::open(&url, &graced, Some(GRACE), 1).await?;
        let _other = RawStream::open(&direct, &other, None, 1).await?;
        // Values dropped here end the stream; values kept in `_kept` do not.
        let _kept = match way {
            "finished" => {
                drop(requests);
                (None, Some(responses))
            }
            "dropped" => {
                drop((requests, responses));
                (None, None)
            }
            _ => {
                cluster.relay(0).interrupt().await;
                (Some(requests), Some(responses))
            }
        };
        let lived = lifetime(&client, &graced).await;
        assert!(lived > GRACE / 2, "{way}: {lived:?}");
        client.get_session(&other).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn session_ends_with_the_last_stream_of_its_client() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = Client::connect(cluster.direct_url(0))?;
    let url = cluster.direct_url(0);
    let first = RawStream::open(&url, "ann", Some(GRACE), 1).await?;
    let second = RawStream::open(&url, "ann", Some(GRACE), 2).await?;
    drop(first);
    assert!(outlives_its_grace(&client, "ann").await);
    drop(second);
    lifetime(&client, "ann").await;
    // An ended session is not revived, and its state names the reason.
    let ended = RawStream::connect(&url, "ann", Some(GRACE), 3).await?.state().await?;
    assert!(matches!(&ended, State::Ended(end) if end.reason() == v1::EndReason::Disconnected), "{ended:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn server_unaware_of_a_move_accepts_the_client_again() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = Client::connect(cluster.direct_url(1))?;
    let first = RawStream::open(&cluster.direct_url(0), "ann", Some(GRACE), 1).await?;
    cluster.set_connected(0, false);
    let _second = RawStream::open(&cluster.direct_url(1), "ann", Some(GRACE), 2).await?;
    // For the first server, the session has expired.
    drop(first);
    assert!(outlives_its_grace(&client, "ann").await);
    cluster.set_connected(0, true);
    RawStream::open(&cluster.direct_url(0), "ann", Some(GRACE), 3).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ended_during_a_drain_is_no_disconnect() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    let client = Client::connect(cluster.direct_url(1))?;
    let mut stream = RawStream::open(&cluster.direct_url(0), "ann", Some(GRACE), 1).await?;
    // Another client takes longer to disconnect, so that the server stays up for longer than the grace.
    let other = RawStream::open(&cluster.direct_url(0), "bob", None, 1).await?;
    let drained = async {
        let notice = stream.next().await?;
        assert!(matches!(notice, Received::GoingAway(_)), "{notice:?}");
        drop(stream);
        let is_open = outlives_its_grace(&client, "ann").await;
        drop(other);
        Ok::<_, anyhow::Error>(is_open)
    };
    let (is_open, ()) = tokio::join!(drained, within(cluster.drain(0)));
    assert!(is_open?);
    Ok(())
}
