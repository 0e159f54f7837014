//! Metrics that count events, at one server and at several.

use crate::lab;

use std::time::Duration;

use lab::{Server, TTL, eventually, granted, pass};
use tenure_core::testing::{Build, close};

const SECOND: Duration = Duration::from_secs(1);

/// The value of a sample, given its name and labels; 0 if it is missing.
fn value(server: &Server, sample: &str) -> f64 {
    let text = server.node.metrics.text();
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

fn sum(servers: &[&Server], sample: &str) -> f64 {
    servers.iter().map(|server| value(server, sample)).sum()
}

/// The sum of all samples of a family.
fn all_of(server: &Server, family: &str) -> f64 {
    let text = server.node.metrics.text();
    let samples = text.lines().filter_map(|line| line.strip_prefix(family)?.strip_prefix('{')?.split_once("} "));
    samples.map(|(_, value)| value.parse::<f64>().unwrap()).sum()
}

#[tokio::test(start_paused = true)]
async fn metrics_count_a_hold_and_a_wait_of_two_sessions() {
    let server = Server::alone().await;
    let token = server.hold("ann", "job").await;
    let bob = server.queue("bob", "job").await;
    for (gauge, expected) in
        [("locks_held", 1.0), ("holds", 1.0), ("waiters", 1.0), ("sessions", 2.0), ("sessions_at_home", 2.0)]
    {
        assert_eq!(value(&server, &format!("tenure_{gauge}")), expected, "{gauge}");
    }
    assert_eq!(value(&server, "tenure_lock_wait_seconds_count"), 0.0, "the wait continues");

    pass(SECOND).await;
    server.release("ann", "job", token).await.unwrap();
    granted(bob).await;
    assert_eq!(value(&server, "tenure_lock_wait_seconds_count"), 1.0);
    let waited = value(&server, "tenure_lock_wait_seconds_sum");
    assert!((1.0..1.2).contains(&waited), "{waited}");
    assert_eq!(value(&server, "tenure_grants_total{way=\"at_once\"}"), 1.0);
    assert_eq!(value(&server, "tenure_grants_total{way=\"wait\"}"), 1.0);
    assert_eq!(value(&server, "tenure_holds_ended_total{reason=\"released\"}"), 1.0);
    assert_eq!(value(&server, "tenure_holder_changes_total{reason=\"released\"}"), 1.0);
    assert_eq!((value(&server, "tenure_waiters"), value(&server, "tenure_holds")), (0.0, 1.0));
}

#[tokio::test(start_paused = true)]
async fn metrics_of_several_servers_add_up_and_gauges_agree() {
    let (_database, one, two) = Server::pair().await;
    one.namespace().await;
    two.namespace().await;
    let token = one.hold("ann", "job").await;
    let bob = two.queue("bob", "job").await;
    for server in [&one, &two] {
        eventually(SECOND, "followed", async || value(server, "tenure_waiters") == 1.0).await;
        assert_eq!((value(server, "tenure_holds"), value(server, "tenure_sessions")), (1.0, 2.0));
        assert_eq!(value(server, "tenure_sessions_at_home"), 1.0);
    }
    one.release("ann", "job", token).await.unwrap();
    granted(bob).await;
    let both = [&one, &two];
    assert_eq!(sum(&both, "tenure_grants_total{way=\"at_once\"}"), 1.0);
    assert_eq!(sum(&both, "tenure_grants_total{way=\"wait\"}"), 1.0);
    assert_eq!(sum(&both, "tenure_sessions_opened_total"), 2.0);
    assert_eq!(sum(&both, "tenure_holds_ended_total{reason=\"released\"}"), 1.0);
    assert_eq!(sum(&both, "tenure_holder_changes_total{reason=\"released\"}"), 1.0);
    assert_eq!(sum(&both, "tenure_lock_wait_seconds_count"), 1.0);
    assert_eq!(value(&two, "tenure_lock_wait_seconds_count"), 1.0, "bob waited there");
    eventually(SECOND * 2, "the servers know each other", async || value(&one, "tenure_servers") == 2.0).await;
}

#[tokio::test(start_paused = true)]
async fn expiry_is_counted_by_its_reason() {
    let server = Server::alone().await;
    server.hold("ann", "job").await;
    let bob = server.queue("bob", "job").await;
    // ann is not renewed.
    let renewed = async || {
        let _ = server.namespace().await.renew("bob");
        value(&server, "tenure_sessions_ended_total{reason=\"expired\"}") == 1.0
    };
    eventually(TTL * 2, "ann has expired", renewed).await;
    granted(bob).await;
    assert_eq!(value(&server, "tenure_holds_ended_total{reason=\"expired\"}"), 1.0);
    assert_eq!(value(&server, "tenure_holder_changes_total{reason=\"expired\"}"), 1.0);
    assert_eq!(all_of(&server, "tenure_holder_changes_total"), 1.0);
    assert_eq!(all_of(&server, "tenure_sessions_ended_total"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn holder_that_acquires_its_lock_again_is_not_counted_as_a_change() {
    let server = Server::alone().await;
    for _ in 0..2 {
        let token = server.hold("ann", "job").await;
        server.release("ann", "job", token).await.unwrap();
    }
    assert_eq!(all_of(&server, "tenure_holder_changes_total"), 0.0);
    server.hold("bob", "job").await;
    assert_eq!(all_of(&server, "tenure_holder_changes_total"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn hold_with_a_minimum_is_counted_as_ended_once() {
    let server = Server::alone().await;
    let token = server.hold_by(server.acquire("ann", "job").min_hold(SECOND)).await;
    server.release("ann", "job", token).await.unwrap();
    assert_eq!((value(&server, "tenure_locks_held"), value(&server, "tenure_holds")), (1.0, 0.0));
    assert_eq!(all_of(&server, "tenure_holds_ended_total"), 1.0);
    eventually(SECOND * 2, "the lock is free", async || value(&server, "tenure_locks_held") == 0.0).await;
    assert_eq!(all_of(&server, "tenure_holds_ended_total"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn wait_that_ends_without_a_grant_is_counted_by_its_reason() {
    let server = Server::alone().await;
    server.hold("ann", "job").await;
    let bob = server.queue("bob", "job").await;
    server.ask(close("bob")).await.unwrap();
    drop(bob);
    assert_eq!(value(&server, "tenure_waits_ended_total{reason=\"closed\"}"), 1.0);
    assert_eq!((value(&server, "tenure_waiters"), all_of(&server, "tenure_holds_ended_total")), (0.0, 0.0));
    assert_eq!(value(&server, "tenure_lock_wait_seconds_count"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn renewals_are_counted_by_how_late_they_were() {
    let server = Server::alone().await;
    server.hold("ann", "job").await;
    pass(TTL * 3 / 4).await;
    server.namespace().await.renew("ann").unwrap().unwrap();
    server.namespace().await.renew("ann").unwrap().unwrap();
    let up_to = |part: &str| value(&server, &format!("tenure_renewal_lateness_ratio_bucket{{le=\"{part}\"}}"));
    assert_eq!((up_to("0.1"), up_to("0.7"), up_to("0.8")), (1.0, 1.0, 2.0));
}

#[tokio::test(start_paused = true)]
async fn heartbeats_and_the_remaining_lease_are_measured() {
    let server = Server::alone().await;
    pass(SECOND * 3).await;
    let heartbeats = value(&server, "tenure_heartbeat_seconds_count");
    assert!(heartbeats >= 4.0, "{heartbeats}");
    assert_eq!(value(&server, "tenure_heartbeat_lateness_seconds_count"), heartbeats);
    let left = value(&server, "tenure_lease_left_seconds");
    assert!((8.0..=9.0).contains(&left), "{left}");
    assert_eq!(value(&server, "tenure_heartbeat_failures_total"), 0.0);
}
