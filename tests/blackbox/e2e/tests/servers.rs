//! Tests of three equal servers on one PostgreSQL with three candidates: servers and the database fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tenure_e2e::{Action, Calls, Contest, Entry, clock, few_tries, tries};
use tenure_harness::{Postgres, Tenured, TenuredOptions, Yardstick, wait_until};
use tenure_proto::v1::server_service_client::ServerServiceClient;
use tenure_proto::v1::{GetSessionRequest, ListServersRequest, Server};
use tonic::Code;

const CANDIDATE: &str = env!("CARGO_BIN_EXE_candidate");
const TTL: Duration = Duration::from_millis(1200);

/// For tests in which the leader must not notice anything: the time to find another server is a fraction of this TTL.
/// Without a server, it notices while it is observed.
const LONG_TTL: Duration = Duration::from_secs(4);

/// The leader's work period.
const PERIOD: Duration = Duration::from_secs(1);

/// The server lease in these tests.
const LEASE: Duration = Duration::from_secs(3);

/// The maximum duration of a call whose server has forwarded it to an unresponsive one.
const LONGEST_CALL: Duration = Duration::from_secs(5);

/// The number of the leader's work periods for which it is observed.
const WATCHED: u32 = 5;

async fn three_servers(postgres: &Postgres) -> Vec<Tenured> {
    three_servers_with_lease(postgres, LEASE).await
}

/// Starts three servers with this lease.
async fn three_servers_with_lease(postgres: &Postgres, lease: Duration) -> Vec<Tenured> {
    let url = postgres.create_database().await.unwrap();
    let options = TenuredOptions::store(url).argument(format!("--server-lease={}ms", lease.as_millis()));
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Tenured::start(&options).await.unwrap());
    }
    servers
}

fn contest(servers: &[Tenured], ttl: Duration) -> Contest {
    let urls: Vec<String> = servers.iter().map(Tenured::url).collect();
    Contest::start(CANDIDATE, &urls, ttl, PERIOD, 3).unwrap()
}

/// The home server of a session: the one that knows its remaining lifetime.
async fn home(servers: &[Tenured], session: &str) -> usize {
    for (number, server) in servers.iter().enumerate() {
        let mut sessions = Calls::connect(&server.url()).await.unwrap().sessions;
        let request = GetSessionRequest { session_id: session.into(), ..GetSessionRequest::default() };
        let found = sessions.get_session(request).await.unwrap().into_inner().session.unwrap();
        if found.remaining.is_some() {
            return number;
        }
    }
    panic!("no server is the home of {session}");
}

fn session_of(leader: &Entry) -> &str {
    match &leader.action {
        Action::Leads { session, .. } => session,
        other => panic!("does not lead: {other:?}"),
    }
}

/// Checks that from `since` on, the leader works under its token `WATCHED` times, and no other action happens.
async fn keeps_leading(contest: &Contest, leader: &Entry, since: Duration) {
    let mut at = since;
    for _ in 0..WATCHED {
        let work = contest.next(at, "work continues", |entry| matches!(entry.action, Action::Works { .. })).await;
        assert_eq!((work.process, work.token()), (leader.process, leader.token()), "{:#?}", contest.timeline());
        assert!(work.at - at < PERIOD * 3, "work stopped for a while: {:#?}", contest.timeline());
        at = work.at;
    }
    let noticed = contest.timeline().into_iter().filter(|entry| entry.at > since && entry.process == leader.process);
    let noticed: Vec<Entry> =
        noticed.filter(|entry| matches!(entry.action, Action::Lost(_) | Action::Failed(_))).collect();
    assert_eq!(noticed, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_kill_of_its_server() {
    let mut servers = three_servers(Postgres::shared().await.unwrap()).await;
    let contest = contest(&servers, LONG_TTL);
    for _ in 0..few_tries() {
        let leader = contest.leader().await;
        let home = home(&servers, session_of(&leader)).await;
        servers[home].kill().await.unwrap();
        keeps_leading(&contest, &leader, clock()).await;
        servers[home].start_again().await.unwrap();
    }
    contest.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_freeze_of_its_server() {
    let mut servers = three_servers(Postgres::shared().await.unwrap()).await;
    let contest = contest(&servers, LONG_TTL);
    let leader = contest.leader().await;
    let home = home(&servers, session_of(&leader)).await;
    let frozen = clock();
    servers[home].pause().await.unwrap();
    // For longer than its lease, so that the others have marked it dead.
    tokio::time::sleep(LEASE * 2).await;
    servers[home].resume().unwrap();
    keeps_leading(&contest, &leader, frozen).await;
    // It has noticed, and serves again as a new server.
    wait_until(Duration::from_secs(60), "the server has started over", async || {
        let ready = servers[home].status("/readyz").await == Some(200);
        let log = std::fs::read_to_string(servers[home].log_file()).unwrap();
        ready && log.matches("registered").count() == 2
    })
    .await;
    keeps_leading(&contest, &leader, clock()).await;
    contest.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_drain_of_its_server() {
    let mut servers = three_servers(Postgres::shared().await.unwrap()).await;
    let contest = contest(&servers, LONG_TTL);
    let leader = contest.leader().await;
    let home = home(&servers, session_of(&leader)).await;
    let start = clock();
    servers[home].stop().await.unwrap();
    keeps_leading(&contest, &leader, start).await;
    contest.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_killed_with_its_server_is_replaced() {
    let mut servers = three_servers(Postgres::shared().await.unwrap()).await;
    let mut contest = contest(&servers, TTL);
    let (mut times, yardstick) = (Vec::new(), Yardstick::start());
    for _ in 0..tries() {
        let leader = contest.leader().await;
        let home = home(&servers, session_of(&leader)).await;
        // In this order: a leader that lived on for a moment would find another server.
        let killed = contest.kill(leader.process).unwrap();
        servers[home].kill().await.unwrap();
        let works = |entry: &Entry| matches!(entry.action, Action::Works { .. }) && entry.process != leader.process;
        let next = contest.next(killed, "another works", works).await;
        times.push(next.at - killed);
        assert!(next.token() > leader.token());
        servers[home].start_again().await.unwrap();
        contest.add().unwrap();
    }
    println!("from the kill to the work of another: {times:?}");
    contest.check();
    yardstick.assert_in_time(&times, LEASE + TTL);
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_a_database_outage() {
    let mut postgres = Postgres::start().await.unwrap();
    // Longer than the outage, however slow the machine is.
    let servers = three_servers_with_lease(&postgres, 10 * LEASE).await;
    let contest = contest(&servers, LONG_TTL);
    let leader = contest.leader().await;
    let stopped = clock();
    postgres.stop().await.unwrap();
    // The wait is the outage itself: five work periods of the leader.
    keeps_leading(&contest, &leader, stopped).await;
    postgres.start_again().await.unwrap();
    keeps_leading(&contest, &leader, stopped).await;
    contest.check();
    // The others still wait, and take over when it is their turn.
    let mut contest = contest;
    let killed = contest.kill(leader.process).unwrap();
    let next = contest.next(killed, "another works", |entry| matches!(entry.action, Action::Works { .. })).await;
    assert!(next.token() > leader.token());
    contest.check();
}

/// Acquires and releases its own lock until it is stopped. Returns the duration of the longest call. A call that was in
/// progress at a frozen server for too long has an unknown outcome, and is repeated.
async fn acquire_repeatedly(
    url: String,
    name: String,
    rounds: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    is_frozen: bool,
) -> Duration {
    let calls = Calls::connect(&url).await.unwrap();
    let mut longest = Duration::ZERO;
    while !ended.load(Ordering::SeqCst) {
        let start = clock();
        let mut between = start;
        let round = async {
            let held = calls.try_lock(&name, &name, TTL * 10).await?;
            assert!(held.acquired, "{held:?}");
            between = clock();
            calls.release(&name, &name, held.token).await
        };
        match round.await {
            Ok(_) => rounds.fetch_add(1, Ordering::SeqCst),
            Err(status) if is_frozen && status.code() == Code::Unavailable => continue,
            Err(status) => panic!("{status}"),
        };
        longest = longest.max(between - start).max(clock() - between);
    }
    longest
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_server_delays_forwarded_commands_briefly() {
    // None is marked dead while it is frozen, however slow the machine is.
    let mut servers = three_servers_with_lease(Postgres::shared().await.unwrap(), 20 * LEASE).await;
    // Each of them in turn, since one of them is the writer.
    let count = servers.len();
    for frozen in 0..count {
        let ended = Arc::new(AtomicBool::new(false));
        let client = |(number, server): (usize, &Tenured)| {
            let rounds = Arc::new(AtomicUsize::new(0));
            let name = format!("round-{frozen}-client-{number}");
            let is_frozen = number % count == frozen;
            (rounds.clone(), tokio::spawn(acquire_repeatedly(server.url(), name, rounds, ended.clone(), is_frozen)))
        };
        let clients: Vec<_> = servers.iter().chain(&servers).enumerate().map(client).collect();
        let progress = async |rounds: usize, of: &dyn Fn(usize) -> bool| {
            let selected = clients.iter().enumerate().filter(|(number, _)| of(number % count));
            let goals: Vec<_> =
                selected.map(|(_, (progress, _))| (progress, progress.load(Ordering::SeqCst) + rounds)).collect();
            wait_until(Duration::from_secs(60), "all clients make progress", async || {
                goals.iter().all(|(progress, goal)| progress.load(Ordering::SeqCst) >= *goal)
            })
            .await;
        };
        progress(50, &|_| true).await;
        servers[frozen].pause().await.unwrap();
        progress(50, &|server| server != frozen).await;
        servers[frozen].resume().unwrap();
        progress(50, &|_| true).await;
        ended.store(true, Ordering::SeqCst);
        for (number, (_, client)) in clients.into_iter().enumerate() {
            let longest = client.await.unwrap();
            if number % count != frozen {
                assert!(longest < LONGEST_CALL, "a call took {longest:?} while server {frozen} was frozen");
            }
        }
    }
}

/// The servers according to one of them: label, sessions, whether each is alive and answers.
async fn servers_of(server: &Tenured) -> Vec<Server> {
    let mut client =
        ServerServiceClient::new(tonic::transport::Endpoint::new(server.url()).unwrap().connect().await.unwrap());
    client.list_servers(ListServersRequest::default()).await.unwrap().into_inner().servers
}

#[tokio::test(flavor = "multi_thread")]
async fn every_server_lists_all_servers() {
    let mut servers = three_servers_with_lease(Postgres::shared().await.unwrap(), 2 * LEASE).await;
    for (number, server) in servers.iter().take(2).enumerate() {
        let calls = Calls::connect(&server.url()).await.unwrap();
        calls.try_lock(&format!("job-{number}"), &format!("session-{number}"), Duration::from_secs(60)).await.unwrap();
    }
    let port = |server: &Tenured| format!(":{}", server.port());
    let sessions_of = |listed: &[Server], port: &str| {
        let found = listed.iter().find(|server| server.address.ends_with(port));
        found.map(|server| (server.sessions, server.dead))
    };
    let [first, second, third] = [0, 1, 2].map(|number| port(&servers[number]));
    for server in &servers {
        let all = async || {
            let listed = servers_of(server).await;
            let expected = [(&first, 1), (&second, 1), (&third, 0)];
            expected.iter().all(|(port, count)| sessions_of(&listed, port) == Some((*count, false)))
        };
        wait_until(Duration::from_secs(30), "three servers are listed", all).await;
        let listed = servers_of(server).await;
        let answering: Vec<&Server> = listed.iter().filter(|other| other.answering).collect();
        assert!(matches!(answering.as_slice(), [one] if one.address.ends_with(&port(server))), "{listed:?}");
        assert!(listed.iter().all(|other| other.since_heartbeat.is_some()), "{listed:?}");
    }
    servers[0].kill().await.unwrap();
    let adopted = async || {
        let listed = servers_of(&servers[2]).await;
        let rest: u64 = listed.iter().filter(|server| !server.dead).map(|server| server.sessions).sum();
        sessions_of(&listed, &first).is_none() && rest == 2
    };
    wait_until(Duration::from_secs(30), "its session is adopted, and the server is forgotten", adopted).await;
}
