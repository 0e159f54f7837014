//! Each documented exit code is produced by some command.

use crate::support;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use support::{appears, ended, json, run, server, stderr, tenure, waiters};

#[tokio::test]
async fn every_exit_code_occurs() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::new();
    let mut check = async |code: i32, arguments: &[&str]| {
        let output = run(&server, arguments).await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        seen.insert(code);
    };
    check(0, &["lock", "job", "--", "true"]).await;
    json(&server, 0, &["acquire", "job", "--session", "a", "--ttl", "10m"]).await;
    check(1, &["lock", "-n", "job", "--", "true"]).await;
    check(1, &["acquire", "job", "--session", "b", "--ttl", "10m"]).await;
    check(1, &["group", "set", "g", "1", "--expect", "4711"]).await;
    check(1, &["group", "clear", "g", "--expect", "4711"]).await;
    check(2, &["lock", "job"]).await;
    check(2, &["ls", "--namespace", "Not A Name"]).await;
    check(70, &["release", "job", "--session", "b", "--token", "1"]).await;
    check(127, &["lock", "free", "--", "/no/such/program"]).await;
    let plain = dir.path().join("no-program");
    std::fs::write(&plain, "").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    check(126, &["lock", "free", "--", plain.to_str().unwrap()]).await;

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap().to_string();
    drop(listener);
    check(69, &["ls", "--endpoints", &closed]).await;

    // A holder that an operator evicts.
    let began = dir.path().join("began");
    let script = format!(": > {}; while :; do sleep 0.01; done", began.display());
    let holder = tenure(&server.url(), &["lock", "lost", "--", "sh", "-c", &script]).spawn().unwrap();
    appears(&began).await;
    check(0, &["evict", "lost"]).await;
    assert_eq!(ended(holder).await.status.code(), Some(75));
    seen.insert(75);

    let listed = json(&server, 0, &["exit-codes"]).await;
    let codes = listed["exitCodes"].as_array().unwrap();
    let documented: BTreeSet<i32> =
        codes.iter().map(|code| i32::try_from(code["code"].as_i64().unwrap()).unwrap()).collect();
    assert_eq!(seen, documented);
}

#[tokio::test]
async fn exit_code_of_the_command_is_returned() {
    let server = server().await;
    for (code, script) in [(7, "exit 7"), (128 + 15, "kill -TERM $$"), (128 + 9, "kill -KILL $$")] {
        let output = run(&server, &["lock", "job", "--", "sh", "-c", script]).await;
        assert_eq!(output.status.code(), Some(code), "{script}: {}", stderr(&output));
    }
}

#[tokio::test]
async fn unconfirmed_handoff_and_deadlock_exit_as_conflicts() {
    let server = server().await;
    json(&server, 0, &["acquire", "a", "--session", "ann", "--ttl", "10m"]).await;
    json(&server, 0, &["acquire", "b", "--session", "bob", "--ttl", "10m"]).await;
    let waiter =
        |name, session| tenure(&server.url(), &["acquire", name, "--session", session, "--ttl", "10m", "-w", "1h"]);
    let mut first = waiter("a", "bob").spawn().unwrap();
    waiters(&server, "a", "1").await;
    let output = run(&server, &["transfer", "a", "--drain", "100ms"]).await;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(run(&server, &["blocked", "--deadlocks"]).await.status.code(), Some(0));
    let mut second = waiter("b", "ann").spawn().unwrap();
    waiters(&server, "b", "1").await;
    assert_eq!(run(&server, &["blocked", "--deadlocks"]).await.status.code(), Some(1));
    first.kill().await.unwrap();
    second.kill().await.unwrap();
}

#[tokio::test]
async fn exit_codes_are_documented_in_three_places() {
    let server = server().await;
    for arguments in [&["exit-codes"][..], &["help", "exit-codes"], &["--help"]] {
        let output = run(&server, arguments).await;
        let text = String::from_utf8(output.stdout).unwrap();
        for code in ["  0  done", "  1  lock", " 69  no server", " 70  the service", " 75  lock", "126  ", "127  "] {
            assert!(text.contains(code), "{arguments:?}: {code} is missing in\n{text}");
        }
    }
    let manual = String::from_utf8(run(&server, &["man"]).await.stdout).unwrap();
    assert!(manual.contains(".SH \"EXIT STATUS\"") && manual.contains(" 75  lock"), "{manual}");
}
