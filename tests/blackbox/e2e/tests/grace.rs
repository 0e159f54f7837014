//! Tests of sessions with a disconnect grace: a holder that crashes is replaced at once, and a live one keeps its
//! locks, whatever happens to servers and connections.

use std::time::Duration;

use tenure_e2e::{Action, Contest, Entry, Relay, Store, assert_not_early, clock, few_tries, on_every_store, tries};
use tenure_harness::{Tenured, TenuredOptions, Yardstick};

on_every_store!(
    killed_leader_is_replaced_within_its_grace,
    frozen_leader_is_replaced_after_its_ttl,
    leader_survives_a_restart_of_its_server,
    leader_survives_a_disconnect_by_a_proxy,
);

const CANDIDATE: &str = env!("CARGO_BIN_EXE_candidate");
const GRACE: Duration = Duration::from_millis(600);

/// For tests in which a leader must keep its lock. Reconnecting takes a few milliseconds, but on a busy machine all
/// processes may be stalled for longer than the short grace.
const LONG_GRACE: Duration = Duration::from_millis(2500);

/// How long a leader is observed: longer than the long grace.
const WATCHED: Duration = Duration::from_secs(3);

/// So long that an earlier replacement is due to the grace.
const TTL: Duration = Duration::from_secs(10);

/// The leader's work period.
const PERIOD: Duration = Duration::from_millis(100);

/// Longer than a server takes to start on a busy machine.
const RESTART: Duration = Duration::from_secs(20);

fn contest(urls: &[String], ttl: Duration, grace: Duration, count: usize) -> Contest {
    Contest::start_with(CANDIDATE, urls, ttl, Some(grace), PERIOD, count).unwrap()
}

fn works(entry: &Entry) -> bool {
    matches!(entry.action, Action::Works { .. })
}

/// Prints the result of a measurement.
fn report(what: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort();
    println!(
        "{what}: median {:?}, most {:?}, of {} tries",
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1],
        sorted.len()
    );
}

/// Checks that from `since` on, for this time, the leader keeps working under its token, and no other action happens.
async fn keeps_leading(contest: &Contest, leader: &Entry, since: Duration, for_: Duration) {
    let mut at = since;
    while at < since + for_ {
        let work = contest.next(at, "work continues", works).await;
        assert_eq!((work.process, work.token()), (leader.process, leader.token()), "{:#?}", contest.timeline());
        at = work.at;
    }
    let noticed = |entry: &Entry| matches!(entry.action, Action::Lost(_) | Action::Failed(_)) && entry.at > since;
    assert!(!contest.timeline().iter().any(noticed), "{:#?}", contest.timeline());
}

/// The time from `since` to the renewal of the leader's session.
async fn renewed_after(contest: &Contest, leader: u32, since: Duration) -> Duration {
    let is_renewal = |entry: &Entry| entry.process == leader && entry.action == Action::Renewed;
    contest.next(since, "the leader's session is renewed", is_renewal).await.at - since
}

/// Waits for a moment between two renewals: the next renewal is then due to the reconnect.
async fn between_renewals(contest: &Contest, leader: &Entry) -> Duration {
    renewed_after(contest, leader.process, clock()).await;
    tokio::time::sleep(LONG_GRACE / 9).await;
    clock()
}

async fn killed_leader_is_replaced_within_its_grace(store: Store) {
    let server = store.server().await.unwrap();
    let mut contest = contest(&[server.url()], TTL, GRACE, 3);
    let (mut times, yardstick) = (Vec::new(), Yardstick::start());
    for number in 0..tries() {
        let leader = contest.leader().await.process;
        // At a different moment between two pings in each attempt.
        tokio::time::sleep(GRACE / 3 * number / tries()).await;
        let killed = contest.kill(leader).unwrap();
        let another = |entry: &Entry| entry.process != leader && works(entry);
        let next = contest.next(killed, "another works", another).await;
        times.push(next.at - killed);
        contest.add().unwrap();
    }
    report("from the kill to the work of another", &times);
    contest.check();
    yardstick.assert_in_time(&times, GRACE);
    assert_not_early(&times, GRACE);
}

async fn frozen_leader_is_replaced_after_its_ttl(store: Store) {
    let ttl = Duration::from_millis(1200);
    let server = store.server().await.unwrap();
    let contest = contest(&[server.url()], ttl, GRACE, 2);
    let (mut times, yardstick) = (Vec::new(), Yardstick::start());
    for _ in 0..tries() {
        let leader = contest.leader().await.process;
        renewed_after(&contest, leader, clock()).await;
        contest.freeze(leader).await.unwrap();
        let frozen = clock();
        let another = |entry: &Entry| entry.process != leader && works(entry);
        let next = contest.next(frozen, "another works", another).await;
        let renewed = contest.last_renewal(leader).unwrap();
        times.push(next.at - renewed);
        contest.thaw(leader).unwrap();
        // It must notice the loss before it works again.
        let acts = |entry: &Entry| entry.process == leader && !matches!(entry.action, Action::Renewed);
        let first = contest.next(frozen, "it acts", acts).await;
        assert!(matches!(first.action, Action::Lost(_)), "{first:?}");
    }
    report("from the last renewal to the work of another", &times);
    contest.check();
    // The last renewals of a frozen process may have been answered without its noticing.
    yardstick.assert_in_time(&times, ttl + GRACE / 3);
    assert_not_early(&times, ttl);
}

async fn leader_survives_a_restart_of_its_server(store: Store) {
    let mut server = store.server().await.unwrap();
    let contest = contest(&[server.url()], RESTART, RESTART, 2);
    let leader = contest.leader().await;
    let begun = clock();
    for _ in 0..few_tries() {
        server.kill().await.unwrap();
        server.start_again().await.unwrap();
        keeps_leading(&contest, &leader, clock(), LONG_GRACE).await;
    }
    server.stop().await.unwrap();
    server.start_again().await.unwrap();
    keeps_leading(&contest, &leader, begun, clock() - begun + RESTART + WATCHED).await;
    contest.check();
}

async fn leader_survives_a_disconnect_by_a_proxy(store: Store) {
    let server = store.server().await.unwrap();
    let relay = Relay::start(&server.url()).await.unwrap();
    let contest = contest(&[relay.url()], TTL, LONG_GRACE, 2);
    let leader = contest.leader().await;
    let mut times = Vec::new();
    for _ in 0..few_tries() {
        let cut = between_renewals(&contest, &leader).await;
        assert!(relay.cut() >= 2, "both candidates are connected");
        times.push(renewed_after(&contest, leader.process, cut).await);
        keeps_leading(&contest, &leader, cut, WATCHED).await;
        for end in [Relay::go_away, Relay::refuse] {
            assert!(end(&relay) >= 2, "both candidates are connected");
            keeps_leading(&contest, &leader, clock(), WATCHED).await;
        }
    }
    report("from the cut to the renewal", &times);
    contest.check();
}

/// Two servers on one database.
async fn two_servers(store: Store) -> Vec<Tenured> {
    let options: TenuredOptions = store.fresh().await.unwrap();
    vec![Tenured::start(&options).await.unwrap(), Tenured::start(&options).await.unwrap()]
}

/// Checks that the leader continues with the other one of two servers.
async fn leader_survives_the_loss_of_one_of_two_servers(store: Store, kill: bool) {
    let mut servers = two_servers(store).await;
    let urls: Vec<String> = servers.iter().map(Tenured::url).collect();
    let contest = contest(&urls, TTL, LONG_GRACE, 2);
    let leader = contest.leader().await;
    let mut times = Vec::new();
    for number in 0..few_tries() {
        let ended = usize::try_from(number % 2).unwrap();
        let begun = between_renewals(&contest, &leader).await;
        if kill {
            servers[ended].kill().await.unwrap();
        } else {
            servers[ended].stop().await.unwrap();
        }
        times.push(renewed_after(&contest, leader.process, begun).await);
        // For longer than the grace, whether the stopped server was the leader's or not.
        keeps_leading(&contest, &leader, begun, clock() - begun + WATCHED).await;
        servers[ended].start_again().await.unwrap();
    }
    report("from the end of one of two servers to the renewal", &times);
    contest.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_kill_of_one_of_two_servers_on_postgres() {
    leader_survives_the_loss_of_one_of_two_servers(Store::Postgres, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_kill_of_one_of_two_servers_on_mariadb() {
    leader_survives_the_loss_of_one_of_two_servers(Store::MariaDb, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_kill_of_one_of_two_servers_on_mysql() {
    leader_survives_the_loss_of_one_of_two_servers(Store::MySql, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_drain_of_one_of_two_servers_on_postgres() {
    leader_survives_the_loss_of_one_of_two_servers(Store::Postgres, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_survives_the_drain_of_one_of_two_servers_on_mariadb() {
    leader_survives_the_loss_of_one_of_two_servers(Store::MariaDb, false).await;
}
