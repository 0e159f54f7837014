//! Modes, settings, handoffs and deadlocks from the command line, against a real server.

use crate::support;

use std::fs;

use support::{PATIENCE, appears, ended, json, run, server, stderr, tenure, waiters};
use tenure_harness::{Tenured, wait_until};
use tokio::process::Child;

fn printed(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts a child whose session waits for a lock for as long as the child lives.
async fn start_waiter(server: &Tenured, name: &str, session: &str, already: usize) -> Child {
    let arguments = ["acquire", name, "--session", session, "--ttl", "1m", "--wait", "1h"];
    let waiter = tenure(&server.url(), &arguments).spawn().unwrap();
    waiters(server, name, &(already + 1).to_string()).await;
    waiter
}

#[tokio::test]
async fn readers_share_and_writers_do_not() {
    let server = server().await;
    let acquire = |session, shared: &'static [&'static str]| {
        [&["acquire", "db", "--session", session, "--ttl", "1m"], shared].concat()
    };
    json(&server, 0, &acquire("reader-1", &["--shared"])).await;
    json(&server, 0, &acquire("reader-2", &["--shared"])).await;
    assert_eq!(json(&server, 1, &acquire("writer", &[])).await["holder"]["mode"], "MODE_SHARED");
    let output = run(&server, &["lock", "-n", "--shared", "db", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = run(&server, &["lock", "-n", "db", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let listed = printed(&run(&server, &["ls"]).await);
    assert_eq!(listed.matches("shared").count(), 2, "{listed}");
}

#[tokio::test]
async fn permits_are_granted_up_to_the_configured_limit() {
    let server = server().await;
    let unknown = json(&server, 70, &["lock", "-n", "--permits", "2", "pool", "--", "true"]).await;
    assert_eq!(unknown["error"]["reason"], "LIMIT_UNKNOWN");
    let set = json(&server, 0, &["set", "pool", "--limit", "5"]).await;
    assert_eq!(set["lock"]["settings"]["limit"], 5);
    let mismatch = json(&server, 70, &["lock", "-n", "--limit", "3", "pool", "--", "true"]).await;
    assert_eq!(mismatch["error"]["reason"], "LIMIT_MISMATCH");
    let too_many = json(&server, 2, &["lock", "-n", "--permits", "4", "--limit", "3", "pool", "--", "true"]).await;
    assert_eq!(too_many["error"]["reason"], "INVALID_FIELD");

    json(&server, 0, &["acquire", "pool", "--session", "a", "--ttl", "1m", "--permits", "3"]).await;
    let output = run(&server, &["lock", "-n", "--permits", "2", "pool", "--", "sh", "-c", "exit 9"]).await;
    assert_eq!(output.status.code(), Some(9), "{}", stderr(&output));
    let output = run(&server, &["lock", "-n", "--permits", "3", "pool", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("3 of 5 permits"), "{}", stderr(&output));
    assert!(printed(&run(&server, &["ls"]).await).contains(" 3/5 "));

    json(&server, 0, &["set", "pool", "--preempt", "--settling", "1s"]).await;
    let shown = printed(&run(&server, &["set", "pool"]).await);
    assert_eq!(shown, "pool: limit 5, preempt (settling 1s, drain 10s) is set\n");
    json(&server, 0, &["set", "pool", "--no-limit", "--no-preempt"]).await;
    assert_eq!(json(&server, 0, &["set", "pool"]).await["lock"]["settings"], serde_json::Value::Null);
}

#[tokio::test]
async fn impossible_transfer_names_the_obstacle() {
    let server = server().await;
    let impossible = async |arguments: &[&str]| {
        let refused = json(&server, 70, &[&["transfer"], arguments].concat()).await;
        assert_eq!(refused["error"]["reason"], "TRANSFER_IMPOSSIBLE", "{refused}");
        refused["error"]["next"].as_str().unwrap().to_owned()
    };
    assert!(impossible(&["job"]).await.contains("see the holder"));
    json(&server, 0, &["acquire", "job", "--session", "a", "--ttl", "1m"]).await;
    assert!(impossible(&["job"]).await.contains("start the next holder"));
    let mut waiters = [start_waiter(&server, "job", "b", 0).await, start_waiter(&server, "job", "c", 1).await];
    assert!(impossible(&["job", "--to", "unknown"]).await.contains("see the waiters"));
    assert!(impossible(&["job", "--token", "1"]).await.contains("its token"));
    for session in ["r1", "r2"] {
        json(&server, 0, &["acquire", "db", "--session", session, "--ttl", "1m", "--shared"]).await;
    }
    assert!(impossible(&["db"]).await.contains("--token"));
    json(&server, 0, &["acquire", "short", "--session", "a", "--min-hold", "1h"]).await;
    assert!(impossible(&["short"]).await.contains("evict"));
    let refused = json(&server, 2, &["transfer", "job", "--drain", "1ms"]).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("drain"), "{refused}");

    // The holder does not support transfers and never confirms; a second operator requests another successor.
    let to_b = tenure(&server.url(), &["transfer", "job", "--to", "b", "--drain", "1h"]).spawn().unwrap();
    wait_until(PATIENCE, "the holder is asked", async || {
        json(&server, 0, &["get", "job"]).await["lock"]["holders"][0]["transfer"]["toSessionId"] == "b"
    })
    .await;
    let shown = printed(&run(&server, &["get", "job"]).await);
    assert!(shown.contains("is asked to hand over to session b within 1h"), "{shown}");
    assert_eq!(json(&server, 70, &["transfer", "job", "--to", "c"]).await["error"]["reason"], "TRANSFER_PENDING");
    json(&server, 0, &["close", "a"]).await;
    let output = ended(to_b).await;
    assert_eq!(output.status.code(), Some(1), "its hold ended in another way: {}", stderr(&output));
    for waiter in &mut waiters {
        waiter.kill().await.unwrap();
    }
}

#[tokio::test]
async fn stoppable_command_hands_its_lock_over() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("began");
    let script = format!("trap 'exit 0' TERM; : > {}; while :; do sleep 0.01; done", file.display());
    let first = ["lock", "--on-transfer", "stop", "--owner", "ann", "job", "--", "sh", "-c", &script];
    let first = tenure(&server.url(), &first).spawn().unwrap();
    appears(&file).await;
    let next = tenure(&server.url(), &["lock", "--owner", "bob", "job", "--", "sh", "-c", "exit 5"]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    let transferred = json(&server, 0, &["transfer", "job", "--operator", "eve", "--note", "drill"]).await;
    assert_eq!((&transferred["previous"]["owner"], &transferred["claim"]["owner"]), (&"ann".into(), &"bob".into()));
    let first = ended(first).await;
    assert_eq!(first.status.code(), Some(75), "{}", stderr(&first));
    assert!(
        stderr(&first).contains("asked by eve (drill) to hand over job within 10s: stopping"),
        "{}",
        stderr(&first)
    );
    assert_eq!(ended(next).await.status.code(), Some(5));
}

#[tokio::test]
async fn command_that_runs_on_keeps_its_lock_unless_it_ends_in_time() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let (file, done) = (dir.path().join("began"), dir.path().join("done"));
    let script = format!(": > {}; while ! test -e {}; do sleep 0.01; done; exit 3", file.display(), done.display());
    let first = tenure(&server.url(), &["lock", "job", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&file).await;
    let next = tenure(&server.url(), &["lock", "job", "--", "true"]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    let kept = json(&server, 1, &["transfer", "job", "--drain", "100ms"]).await;
    assert_eq!(kept["error"]["reason"], "TRANSFER_NOT_CONFIRMED");
    let transfer = tenure(&server.url(), &["transfer", "job", "--drain", "1h"]).spawn().unwrap();
    wait_until(PATIENCE, "the holder is asked again", async || {
        json(&server, 0, &["get", "job"]).await["lock"]["holders"][0]["transfer"].is_object()
    })
    .await;
    fs::write(&done, "").unwrap();
    let transfer = ended(transfer).await;
    assert_eq!(transfer.status.code(), Some(0), "{}", stderr(&transfer));
    let first = ended(first).await;
    assert_eq!(first.status.code(), Some(3), "it ended by itself: {}", stderr(&first));
    assert!(stderr(&first).contains("the command runs on"), "{}", stderr(&first));
    assert_eq!(ended(next).await.status.code(), Some(0));
}

#[tokio::test]
async fn leader_of_one_term_ends_after_its_handoff() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("began");
    let script = format!(": > {}; exec sleep 1000", file.display());
    let leader = tenure(&server.url(), &["elect", "--once", "chief", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&file).await;
    let mut waiter = start_waiter(&server, "chief", "next", 0).await;
    assert_eq!(json(&server, 0, &["transfer", "chief"]).await["claim"]["sessionId"], "next");
    let output = ended(leader).await;
    assert_eq!(output.status.code(), Some(75), "{}", stderr(&output));
    assert!(stderr(&output).contains("the lead of chief was handed over"), "{}", stderr(&output));
    waiter.wait().await.unwrap();
}

#[tokio::test]
async fn deadlock_sets_the_exit_code() {
    let server = server().await;
    for (session, name) in [("ann", "a"), ("bob", "b")] {
        json(&server, 0, &["acquire", name, "--session", session, "--ttl", "1m"]).await;
    }
    let mut waiting = [start_waiter(&server, "b", "ann", 0).await];
    let output = run(&server, &["blocked"]).await;
    assert_eq!(output.status.code(), Some(0));
    assert!(printed(&output).contains("session bob, token "), "{}", printed(&output));
    let output = run(&server, &["blocked", "--deadlocks"]).await;
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), "no deadlock\n"));
    let mut last = start_waiter(&server, "a", "bob", 0).await;
    let output = run(&server, &["blocked", "--deadlocks"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("deadlock #1: ann -> bob -> ann"), "{}", printed(&output));
    let blocked = json(&server, 1, &["blocked", "--deadlocks"]).await;
    assert_eq!(blocked["blocked"].as_array().unwrap().len(), 2, "{blocked}");
    assert_eq!(blocked["blocked"][0]["truncated"], false, "{blocked}");
    json(&server, 0, &["close", "bob"]).await;
    json(&server, 0, &["blocked", "--deadlocks"]).await;
    waiting[0].wait().await.unwrap();
    last.kill().await.unwrap();
}
