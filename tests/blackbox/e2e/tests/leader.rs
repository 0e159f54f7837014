//! Tests of three copies of a program, one of which works: the leader is killed, and another takes over in time.

use std::time::Duration;

use tenure_e2e::{Action, Contest, Store, assert_not_early, clock, on_every_store, tries};
use tenure_harness::Yardstick;

on_every_store!(killed_leader_is_replaced_in_time);

const CANDIDATE: &str = env!("CARGO_BIN_EXE_candidate");
const TTL: Duration = Duration::from_millis(1200);
const PERIOD: Duration = Duration::from_secs(1);

async fn killed_leader_is_replaced_in_time(store: Store) {
    let server = store.server().await.unwrap();
    let mut contest = Contest::start(CANDIDATE, &[server.url()], TTL, PERIOD, 3).unwrap();
    let (mut times, yardstick) = (Vec::new(), Yardstick::start());
    for number in 0..tries() {
        let leader = contest.leader().await.process;
        let is_renewal = |entry: &tenure_e2e::Entry| entry.process == leader && entry.action == Action::Renewed;
        contest.next(clock(), "the leader's session is renewed", is_renewal).await;
        // At a different moment between two renewals in each attempt, but not so close to the next that it may be under
        // way.
        tokio::time::sleep(TTL / 4 * number / tries()).await;
        let killed = contest.kill(leader).unwrap();
        let works = |entry: &tenure_e2e::Entry| entry.process != leader && matches!(entry.action, Action::Works { .. });
        let next = contest.next(killed, "another works", works).await;
        // Only by now has all its output been read.
        times.push(next.at - contest.last_renewal(leader).unwrap());
        contest.add().unwrap();
    }
    println!("from the last renewal to the work of another: {times:?}");
    contest.check();
    yardstick.assert_in_time(&times, TTL);
    assert_not_early(&times, TTL);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_leader_is_replaced_in_time_on_mysql() {
    killed_leader_is_replaced_in_time(Store::MySql).await;
}
