//! The command line against a real server.

#![allow(clippy::unwrap_used, reason = "a test may panic, and what it calls, too")]

mod support;

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use support::{PATIENCE, appears, json, run, said, server, signal, tenure, waiters};
use tenure_harness::wait_until;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

/// A script that tells its process id in `file` and works until it is killed.
fn stubborn(file: &Path) -> String {
    format!("trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 0.01; done", file.display())
}

/// A script that succeeds if the process of `file` is dead, be it buried or not.
fn succeeds_alone(file: &Path) -> String {
    format!("! grep -qs '^State:.[^ZX]' /proc/$(cat {})/status", file.display())
}

#[tokio::test]
async fn a_command_runs_under_its_lock() {
    let server = server().await;
    let script = "echo $TENURE_LOCK $TENURE_FENCING_TOKEN; exit 5";
    let output = run(&server, &["lock", "job", "--", "sh", "-c", script]).await;
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    let first: Vec<String> = String::from_utf8(output.stdout).unwrap().split_whitespace().map(Into::into).collect();
    assert_eq!(first[0], "job");
    let again = run(&server, &["lock", "job", "--", "sh", "-c", script]).await;
    let second = String::from_utf8(again.stdout).unwrap();
    let token = |text: &str| text.parse::<u64>().unwrap();
    assert!(token(second.split_whitespace().nth(1).unwrap()) > token(&first[1]), "{first:?}, then {second}");
    assert_eq!(json(&server, 0, &["ls"]).await["locks"], serde_json::json!([]));
}

#[tokio::test]
async fn who_does_not_wait_is_told_who_has_it() {
    let server = server().await;
    json(&server, 0, &["acquire", "job", "--session", "host-a", "--ttl", "1m"]).await;
    let output = run(&server, &["lock", "-n", "job", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("held by session host-a"), "{}", said(&output));
    let output = run(&server, &["lock", "-w", "50ms", "-E", "9", "job", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(9));
}

#[tokio::test]
async fn a_job_on_several_hosts_is_run_by_one() {
    let server = server().await;
    let ask = |host| ["acquire", "nightly", "--session", host, "--ttl", "1m"];
    let granted = json(&server, 0, &ask("host-a")).await;
    for host in ["host-b", "host-c", "host-d"] {
        assert_eq!(json(&server, 1, &ask(host)).await["holder"]["sessionId"], "host-a");
    }
    let token = granted["token"].as_str().unwrap();
    assert_eq!(json(&server, 0, &ask("host-a")).await["token"], token, "asking again keeps the token");
    json(&server, 0, &["renew", "host-a"]).await;

    let not_holding = json(&server, 70, &["release", "nightly", "--session", "host-b", "--token", token]).await;
    json(&server, 0, &["release", "nightly", "--session", "host-a", "--token", token]).await;
    assert!(not_holding["error"]["reason"].is_string(), "{not_holding}");
    json(&server, 0, &ask("host-b")).await;
    json(&server, 0, &["close", "host-b"]).await;
    json(&server, 0, &ask("host-c")).await;
}

#[tokio::test]
async fn when_tenure_is_killed_so_is_the_command_and_the_next_one_gets_the_lock() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    // A TTL beyond all patience: the lock does not become free by time.
    let file = dir.path().join("pid");
    let script = stubborn(&file);
    let mut first = tenure(&server.url(), &["lock", "--ttl", "1h", "job", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&file).await;
    let next = succeeds_alone(&file);
    let second = tenure(&server.url(), &["lock", "job", "--", "sh", "-c", &next]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    signal(&first, Signal::KILL);
    let output = timeout(PATIENCE, second.wait_with_output()).await.expect("the lock is never free").unwrap();
    assert!(output.status.success(), "the first command worked on beside the second");
    first.wait().await.unwrap();
}

#[tokio::test]
async fn when_tenure_is_frozen_the_command_dies_before_another_gets_the_lock() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = stubborn(&file);
    let first = tenure(&server.url(), &["lock", "--ttl", "2s", "job", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&file).await;
    let next = succeeds_alone(&file);
    let second = tenure(&server.url(), &["lock", "job", "--", "sh", "-c", &next]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    signal(&first, Signal::STOP);
    let output = timeout(PATIENCE, second.wait_with_output()).await.expect("the lock is never free").unwrap();
    signal(&first, Signal::CONT);
    assert!(output.status.success(), "the first command worked on beside the second");
    let first = timeout(PATIENCE, first.wait_with_output()).await.expect("it hangs").unwrap();
    assert_eq!(first.status.code(), Some(75), "{}", said(&first));
}

#[tokio::test]
async fn a_leader_that_is_evicted_campaigns_again() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let terms = dir.path().join("terms");
    let script = format!("echo $TENURE_FENCING_TOKEN >> {}; exec sleep 1000", terms.display());
    let leader = tenure(&server.url(), &["elect", "chief", "--", "sh", "-c", &script]).spawn().unwrap();
    let count = || fs::read_to_string(&terms).map_or(0, |text| text.lines().count());
    wait_until(PATIENCE, "the first term", async || count() == 1).await;
    let evicted = json(&server, 0, &["evict", "chief", "--operator", "anna", "--note", "drill"]).await;
    assert_eq!(evicted["evicted"][0]["names"][0], "chief");
    wait_until(PATIENCE, "the second term", async || count() == 2).await;
    signal(&leader, Signal::TERM);
    let output = timeout(PATIENCE, leader.wait_with_output()).await.expect("it hangs").unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", said(&output));
    assert!(said(&output).contains("evicted by anna (drill)"), "{}", said(&output));
    let tokens: Vec<u64> = fs::read_to_string(&terms).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert!(tokens[0] < tokens[1], "{tokens:?}");
}

#[tokio::test]
async fn a_watch_goes_on_after_the_server_was_killed() {
    let mut server = server().await;
    // Something happened before, or there would be no revision to go on after.
    json(&server, 0, &["acquire", "job", "--session", "first", "--ttl", "1m"]).await;
    json(&server, 0, &["close", "first"]).await;
    let mut watch = tenure(&server.url(), &["watch", "job"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = async || timeout(PATIENCE, lines.next_line()).await.expect("silent").unwrap().expect("it ended");
    assert!(next().await.ends_with("job  nobody holds it"));
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    let granted = json(&server, 0, &["acquire", "job", "--session", "s", "--ttl", "1m"]).await;
    let line = next().await;
    assert!(line.contains(&format!("granted to session s, token {}", granted["token"].as_str().unwrap())), "{line}");
    json(&server, 0, &["close", "s"]).await;
    let line = next().await;
    assert!(line.contains("closed: session s no longer holds it") && line.ends_with("nobody holds it"), "{line}");
}

#[tokio::test]
async fn the_doctor_tells_a_healthy_server_from_one_that_is_away() {
    let mut server = server().await;
    let report = json(&server, 0, &["doctor"]).await;
    assert_eq!(report["healthy"], true, "{report}");
    server.kill().await.unwrap();
    let report = json(&server, 69, &["doctor"]).await;
    assert_eq!(report["endpoints"][0]["checks"][0]["verdict"], "failed", "{report}");
    let output = run(&server, &["ls"]).await;
    assert_eq!(output.status.code(), Some(69));
    assert!(said(&output).contains(&server.url()), "{}", said(&output));
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused_with_the_bounds() {
    let server = server().await;
    let refused = json(&server, 2, &["acquire", "job", "--session", "s", "--ttl", "1ms"]).await;
    assert_eq!(refused["error"]["reason"], "INVALID_FIELD");
    assert!(refused["error"]["message"].as_str().unwrap().contains("500ms"), "{refused}");
    let refused = json(&server, 70, &["renew", "nobody"]).await;
    assert_eq!(refused["error"]["reason"], "SESSION_NOT_FOUND");
}
