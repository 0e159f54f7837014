//! The command line against a real server.

use crate::support;

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{PATIENCE, appears, json, run, server, signal, stderr, tenure, waiters};
use tenure_harness::wait_until;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

/// A script that writes its process id to `file` and runs until it is killed.
fn ignoring_sigterm(file: &Path) -> String {
    format!("trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 0.01; done", file.display())
}

/// A script that succeeds if the process of `file` is dead, reaped or not.
fn succeeds_alone(file: &Path) -> String {
    format!("! grep -qs '^State:.[^ZX]' /proc/$(cat {})/status", file.display())
}

#[tokio::test]
async fn command_runs_under_its_lock() {
    let server = server().await;
    let script = "echo $TENURE_LOCK $TENURE_FENCING_TOKEN; exit 5";
    let output = run(&server, &["lock", "job", "--", "sh", "-c", script]).await;
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let first: Vec<String> = String::from_utf8(output.stdout).unwrap().split_whitespace().map(Into::into).collect();
    assert_eq!(first[0], "job");
    let again = run(&server, &["lock", "job", "--", "sh", "-c", script]).await;
    let second = String::from_utf8(again.stdout).unwrap();
    let token = |text: &str| text.parse::<u64>().unwrap();
    assert!(token(second.split_whitespace().nth(1).unwrap()) > token(&first[1]), "{first:?}, then {second}");
    assert_eq!(json(&server, 0, &["ls"]).await["locks"], serde_json::json!([]));
}

#[tokio::test]
async fn try_without_wait_names_the_holder() {
    let server = server().await;
    json(&server, 0, &["acquire", "job", "--session", "host-a", "--ttl", "1m"]).await;
    let output = run(&server, &["lock", "-n", "job", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("held by session host-a"), "{}", stderr(&output));
    let output = run(&server, &["lock", "-w", "50ms", "-E", "9", "job", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(9));
}

#[tokio::test]
async fn job_on_several_hosts_is_run_by_one() {
    let server = server().await;
    let acquire = |host| ["acquire", "nightly", "--session", host, "--ttl", "1m"];
    let granted = json(&server, 0, &acquire("host-a")).await;
    for host in ["host-b", "host-c", "host-d"] {
        assert_eq!(json(&server, 1, &acquire(host)).await["holder"]["sessionId"], "host-a");
    }
    let token = granted["token"].as_str().unwrap();
    assert_eq!(json(&server, 0, &acquire("host-a")).await["token"], token, "a repeated acquire keeps the token");
    json(&server, 0, &["renew", "host-a"]).await;

    let not_holding = json(&server, 70, &["release", "nightly", "--session", "host-b", "--token", token]).await;
    json(&server, 0, &["release", "nightly", "--session", "host-a", "--token", token]).await;
    assert!(not_holding["error"]["reason"].is_string(), "{not_holding}");
    json(&server, 0, &acquire("host-b")).await;
    json(&server, 0, &["close", "host-b"]).await;
    json(&server, 0, &acquire("host-c")).await;
}

#[tokio::test]
async fn killed_tenure_kills_its_command_and_the_next_gets_the_lock() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    // The TTL exceeds the test's timeout: the lock does not become free by expiry.
    let file = dir.path().join("pid");
    let script = ignoring_sigterm(&file);
    let mut first = tenure(&server.url(), &["lock", "--ttl", "1h", "job", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&file).await;
    let next = succeeds_alone(&file);
    let second = tenure(&server.url(), &["lock", "job", "--", "sh", "-c", &next]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    signal(&first, Signal::KILL);
    let output = timeout(PATIENCE, second.wait_with_output()).await.expect("the lock does not become free").unwrap();
    assert!(output.status.success(), "the first command still ran beside the second");
    first.wait().await.unwrap();
}

#[tokio::test]
async fn command_of_frozen_tenure_is_killed_before_the_next_grant() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = ignoring_sigterm(&file);
    let first = tenure(&server.url(), &["lock", "--ttl", "6s", "job", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&file).await;
    let next = succeeds_alone(&file);
    let second = tenure(&server.url(), &["lock", "job", "--", "sh", "-c", &next]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    signal(&first, Signal::STOP);
    let output = timeout(PATIENCE, second.wait_with_output()).await.expect("the lock does not become free").unwrap();
    signal(&first, Signal::CONT);
    assert!(output.status.success(), "the first command still ran beside the second");
    let first = timeout(PATIENCE, first.wait_with_output()).await.expect("it hangs").unwrap();
    assert_eq!(first.status.code(), Some(75), "{}", stderr(&first));
}

/// The processes started for this server, except `except`: `tenure`, its guards and commands.
fn processes(url: &str, except: &Child) -> Vec<Pid> {
    let mark = format!("TENURE_ENDPOINTS={url}");
    let marked = |id: &String| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|line| line == mark.as_bytes())
    };
    let all = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let others = all.filter(|id| *id != except.id().unwrap().to_string() && marked(id));
    others.filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
}

#[tokio::test]
async fn lock_of_killed_processes_is_free_after_the_disconnect_grace() {
    let server = server().await;
    let grace = ["lock", "--ttl", "1h", "--disconnect-grace", "2500ms", "job", "--", "sleep", "1000"];
    let mut first = tenure(&server.url(), &grace).spawn().unwrap();
    let held = async || !json(&server, 0, &["ls"]).await["locks"].as_array().unwrap().is_empty();
    wait_until(PATIENCE, "the lock is held", held).await;
    let sessions = json(&server, 0, &["sessions"]).await;
    assert_eq!(sessions["sessions"][0]["disconnectGrace"], "2.500s", "{sessions}");
    let second = tenure(&server.url(), &["lock", "job", "--", "true"]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    // No process may survive to release the lock.
    for blow in [Signal::STOP, Signal::KILL] {
        for process in processes(&server.url(), &second) {
            kill_process(process, blow).unwrap();
        }
    }
    let output = timeout(PATIENCE, second.wait_with_output()).await.expect("the lock does not become free").unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    first.wait().await.unwrap();
}

#[tokio::test]
async fn evicted_leader_campaigns_again() {
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
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    assert!(stderr(&output).contains("evicted by anna (drill)"), "{}", stderr(&output));
    let tokens: Vec<u64> = fs::read_to_string(&terms).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert!(tokens[0] < tokens[1], "{tokens:?}");
}

#[tokio::test]
async fn watch_resumes_after_a_server_crash() {
    let mut server = server().await;
    // An earlier event is needed, as there would be no revision to resume after otherwise.
    json(&server, 0, &["acquire", "job", "--session", "first", "--ttl", "1m"]).await;
    json(&server, 0, &["close", "first"]).await;
    let mut watch = tenure(&server.url(), &["watch", "job"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = async || {
        timeout(PATIENCE, lines.next_line()).await.expect("the watch prints nothing").unwrap().expect("the watch ended")
    };
    assert!(next().await.ends_with("job  not held"));
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    let granted = json(&server, 0, &["acquire", "job", "--session", "s", "--ttl", "1m"]).await;
    let line = next().await;
    assert!(line.contains(&format!("granted to session s, token {}", granted["token"].as_str().unwrap())), "{line}");
    json(&server, 0, &["close", "s"]).await;
    let line = next().await;
    assert!(line.contains("closed: session s no longer holds it") && line.ends_with("no holder"), "{line}");
}

#[tokio::test]
async fn doctor_reports_a_plaintext_server() {
    let server = server().await;
    let url = server.url().replace("http://", "https://");
    let output = tenure(&url, &["doctor"]).output().await.unwrap();
    let explained = String::from_utf8(output.stdout).unwrap();
    assert!(explained.contains("speaks plaintext, use http://"), "{explained}");
}

#[tokio::test]
async fn doctor_distinguishes_healthy_and_unreachable_servers() {
    let mut server = server().await;
    let report = json(&server, 0, &["doctor"]).await;
    assert_eq!(report["healthy"], true, "{report}");
    server.kill().await.unwrap();
    let report = json(&server, 69, &["doctor"]).await;
    assert_eq!(report["endpoints"][0]["checks"][0]["verdict"], "failed", "{report}");
    let output = run(&server, &["ls"]).await;
    assert_eq!(output.status.code(), Some(69));
    assert!(stderr(&output).contains(&server.url()), "{}", stderr(&output));
}

#[tokio::test]
async fn top_shows_servers_locks_and_waiters() {
    let server = server().await;
    json(&server, 0, &["acquire", "job", "--session", "first", "--ttl", "1m"]).await;
    let waiting =
        tenure(&server.url(), &["acquire", "job", "--session", "second", "--ttl", "1m", "--wait", "1m"]).spawn();
    let _waiting = waiting.unwrap();
    let queued = async || json(&server, 0, &["get", "job"]).await["lock"]["waiterCount"] == "1";
    wait_until(PATIENCE, "the second waits", queued).await;
    let output = run(&server, &["top"]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2 sessions open; 1 locks held; 1 waited for, by 1"), "{text}");
    let row = text.lines().find(|line| line.starts_with("job ")).unwrap();
    assert!(row.contains("first") && row.contains("second"), "{text}");

    let servers = json(&server, 0, &["servers"]).await;
    assert_eq!(servers["servers"][0]["sessions"], "2", "{servers}");
    assert_eq!(servers["servers"][0]["answering"], true, "{servers}");
    let all = json(&server, 0, &["top"]).await;
    assert_eq!(all["servers"]["servers"][0]["id"], servers["servers"][0]["id"], "{all}");
    let refused = run(&server, &["top", "--interval", "1ms"]).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--interval: at least 100ms"), "{}", stderr(&refused));
}

#[tokio::test]
async fn values_out_of_bounds_are_rejected_with_the_bounds() {
    let server = server().await;
    let refused = json(&server, 2, &["acquire", "job", "--session", "s", "--ttl", "1ms"]).await;
    assert_eq!(refused["error"]["reason"], "INVALID_FIELD");
    assert!(refused["error"]["message"].as_str().unwrap().contains("500ms"), "{refused}");
    let refused =
        run(&server, &["lock", "--ttl", "1s", "--disconnect-grace", "2s", "--kill-grace", "0", "job", "--", "true"])
            .await;
    assert!(stderr(&refused).contains("disconnect_grace: 100ms to the ttl (1s)"), "{}", stderr(&refused));
    let refused =
        run(&server, &["lock", "--disconnect-grace", "300ms", "--kill-grace", "1s", "job", "--", "true"]).await;
    assert!(stderr(&refused).contains("at most a third of the disconnect grace, 100ms"), "{}", stderr(&refused));
    let refused = json(&server, 70, &["renew", "unknown"]).await;
    assert_eq!(refused["error"]["reason"], "SESSION_NOT_FOUND");
}

/// The holders in a history, newest first: session, end reason and operator.
fn holds(history: &Value) -> Vec<(&str, &str, &str)> {
    let holds = history["entries"].as_array().unwrap().iter().map(|entry| entry["hold"].as_object().unwrap());
    holds
        .map(|hold| {
            let [session, reason, operator] =
                ["sessionId", "endReason", "operator"].map(|field| hold[field].as_str().unwrap());
            (session, reason, operator)
        })
        .collect()
}

#[tokio::test]
async fn history_lists_holders_and_evictions() {
    let server = server().await;
    let acquire = |host| ["acquire", "nightly", "--session", host, "--ttl", "1m", "--owner", "worker"];
    for host in ["host-a", "host-b"] {
        json(&server, 0, &acquire(host)).await;
        json(&server, 0, &["close", host]).await;
    }
    json(&server, 0, &acquire("host-c")).await;
    json(&server, 0, &["evict", "nightly", "--operator", "anna", "--note", "drill"]).await;
    let granted = json(&server, 0, &acquire("host-d")).await;

    let history = json(&server, 0, &["history", "nightly"]).await;
    let evicted = ("host-c", "END_REASON_EVICTED", "anna");
    assert_eq!(
        holds(&history),
        [
            ("host-d", "END_REASON_UNSPECIFIED", ""),
            evicted,
            ("host-b", "END_REASON_CLOSED", ""),
            ("host-a", "END_REASON_CLOSED", ""),
        ]
    );
    assert_eq!(history["entries"][0]["hold"]["token"], granted["token"]);
    assert!(history["keptSince"].is_string() && history["nextPageToken"] == "", "{history}");
    let part = json(&server, 0, &["history", "nightly", "-n", "1"]).await;
    assert_eq!(holds(&part)[1..], [evicted], "one hold, beside the current one");

    let output = run(&server, &["history", "nightly"]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("evicted by anna (drill)") && text.contains("holds it"), "{text}");
    let output = run(&server, &["history", "never-held"]).await;
    assert!(stderr(&output).starts_with("never-held: no known holds"), "{}", stderr(&output));
    json(&server, 2, &["history", ""]).await;
}

#[tokio::test]
async fn why_explains_a_holder_its_queue_and_an_idle_lock() {
    let server = server().await;
    let why = async || String::from_utf8(run(&server, &["why", "nightly"]).await.stdout).unwrap();
    json(&server, 0, &["acquire", "nightly", "--session", "host-a", "--ttl", "1m"]).await;
    let waiter = tenure(&server.url(), &["lock", "nightly", "--", "true"]).spawn().unwrap();
    waiters(&server, "nightly", "1").await;
    let explained = json(&server, 0, &["why", "nightly"]).await;
    assert_eq!(explained["lock"]["holders"][0]["sessionId"], "host-a");
    assert_eq!(explained["session"]["id"], "host-a");
    assert_eq!(explained["waiters"][0]["blockedBy"]["sessionId"], "host-a");
    assert!(explained["history"]["entries"][0]["hold"]["sinceRenewal"].is_string(), "{explained}");
    let text = why().await;
    assert!(text.starts_with("nightly: held by session host-a, token ") && text.contains("TTL 1m"), "{text}");
    assert!(text.contains("1 waiting:") && text.contains("behind session host-a"), "{text}");

    json(&server, 0, &["evict", "nightly", "--operator", "anna", "--note", "host is gone"]).await;
    let waiter = timeout(PATIENCE, waiter.wait_with_output()).await.expect("it hangs").unwrap();
    assert!(waiter.status.success(), "{}", stderr(&waiter));
    let text = why().await;
    assert!(text.starts_with("nightly: not held\n") && text.contains("no waiters"), "{text}");
    assert!(text.contains("ended     released: its holder released it"), "{text}");
    assert!(text.contains("evicted by anna (host is gone)"), "{text}");
    let explained = json(&server, 0, &["why", "nightly"]).await;
    assert_eq!((&explained["session"], &explained["waiters"]), (&Value::Null, &serde_json::json!([])));
}
