//! JSON output: each command prints the fields that `tenure json` documents.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use support::{PATIENCE, json, run, server, tenure, waiters};
use tenure_harness::{Tenured, wait_until};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

/// Commands that print messages with fields that may be unset, such as events, holders and database state.
const MESSAGES: [&str; 5] = ["watch", "group", "acquire", "servers", "history"];

/// Collects the commands without subcommands.
fn leaves(command: &clap::Command, before: &str, found: &mut BTreeSet<String>) {
    for below in command.get_subcommands() {
        let name = format!("{before}{}", below.get_name());
        if below.has_subcommands() {
            leaves(below, &format!("{name} "), found);
        } else {
            found.insert(name);
        }
    }
}

/// Returns the documented fields of each command.
async fn documented(server: &Tenured) -> BTreeMap<String, BTreeSet<String>> {
    let listed = json(server, 0, &["json"]).await;
    let commands = listed["commands"].as_array().unwrap();
    commands
        .iter()
        .map(|one| {
            let fields = one["fields"].as_array().unwrap().iter().map(|field| field.as_str().unwrap().to_owned());
            (one["command"].as_str().unwrap().to_owned(), fields.collect())
        })
        .collect()
}

#[tokio::test]
async fn every_command_is_documented() {
    let server = server().await;
    let mut existing = BTreeSet::new();
    leaves(&tenure_cli::command(), "", &mut existing);
    let documented: BTreeSet<String> = documented(&server).await.into_keys().collect();
    let missing: Vec<&String> = existing.difference(&documented).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let others: Vec<&String> = documented.difference(&existing).collect();
    assert_eq!(others, ["sessions ID", "set NAME"], "commands whose output depends on their arguments");
}

/// Asserts that `line` is one JSON object with only documented fields.
fn check(documented: &BTreeMap<String, BTreeSet<String>>, command: &str, line: &str) {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{command}: {error}: {line}"));
    let fields: BTreeSet<String> = value.as_object().unwrap().keys().cloned().collect();
    let known = &documented[command];
    assert!(fields.is_subset(known), "{command}: {fields:?}, documented are {known:?}");
    // Unset fields of a contract message are omitted; all other objects have every documented field.
    let is_own = known.len() == fields.len();
    let of_contract = MESSAGES.contains(&command.split(' ').next().unwrap());
    assert!(is_own || of_contract, "{command}: {fields:?}, documented are {known:?}");
}

#[tokio::test]
async fn every_command_prints_what_is_documented() {
    let server = server().await;
    let documented = documented(&server).await;
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().display().to_string();
    let mut checked = BTreeSet::new();
    let mut one = async |command: &str, arguments: &[&str]| {
        let output = run(&server, &[&["-o", "json"], arguments].concat()).await;
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.lines().count(), 1, "{command}: {text}");
        check(&documented, command, &text);
        checked.insert(command.to_owned());
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let granted = one("acquire", &["acquire", "job", "--session", "a", "--ttl", "10m"]).await;
    one("ls", &["ls"]).await;
    one("get", &["get", "job"]).await;
    one("why", &["why", "job"]).await;
    one("history", &["history", "job"]).await;
    one("blocked", &["blocked"]).await;
    one("sessions", &["sessions"]).await;
    one("sessions ID", &["sessions", "a"]).await;
    one("servers", &["servers"]).await;
    one("top", &["top"]).await;
    one("doctor", &["doctor"]).await;
    one("renew", &["renew", "a"]).await;
    one("set", &["set", "job", "--preempt"]).await;
    one("set NAME", &["set", "job"]).await;
    one("group set", &["group", "set", "g", "1"]).await;
    one("group get", &["group", "get", "g"]).await;
    one("group ls", &["group", "ls"]).await;
    one("group clear", &["group", "clear", "g"]).await;
    one("release", &["release", "job", "--session", "a", "--token", granted["token"].as_str().unwrap()]).await;
    one("evict", &["evict", "job"]).await;
    one("close", &["close", "a"]).await;
    for (command, arguments) in [
        ("fence-sql", &["fence-sql", "mysql"][..]),
        ("cheat", &["cheat"]),
        ("exit-codes", &["exit-codes"]),
        ("json", &["json"]),
        ("completions", &["completions", "bash"]),
        ("man", &["man"]),
        ("man", &["man", "--dir", &pages]),
    ] {
        one(command, arguments).await;
    }
    // A holder that hands its lock over.
    let script = "trap 'exit 0' TERM; while :; do sleep 0.01; done";
    let holder =
        tenure(&server.url(), &["lock", "--on-transfer", "stop", "t", "--", "sh", "-c", script]).spawn().unwrap();
    wait_until(PATIENCE, "it is held", async || json(&server, 0, &["get", "t"]).await["lock"]["holderCount"] == "1")
        .await;
    let next = tenure(&server.url(), &["lock", "t", "--", "true"]).spawn().unwrap();
    waiters(&server, "t", "1").await;
    one("transfer", &["transfer", "t"]).await;
    drop((holder, next));

    for (command, arguments) in [
        ("watch", &["watch", "job"][..]),
        ("group watch", &["group", "watch", "g"]),
        ("group join", &["group", "join", "g", "--assign", "cat"]),
    ] {
        let mut child = tenure(&server.url(), &[&["-o", "json"], arguments].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.expect("the command prints nothing").unwrap().unwrap();
        check(&documented, command, &line);
        child.kill().await.unwrap();
        checked.insert(command.to_owned());
    }
    let unchecked: Vec<&String> = documented.keys().filter(|command| !checked.contains(*command)).collect();
    assert_eq!(unchecked, ["elect", "lock"], "their output is that of CMD");
}

#[tokio::test]
async fn errors_are_printed_as_json() {
    let server = server().await;
    for (code, reason, arguments) in [
        (70, Value::from("SESSION_NOT_FOUND"), &["renew", "unknown"][..]),
        (2, Value::Null, &["ls", "--no-such-option"]),
        (2, Value::Null, &["no-such-command"]),
        (127, Value::Null, &["lock", "job", "--", "/no/such/program"]),
    ] {
        let failed = json(&server, code, arguments).await;
        let error = failed["error"].as_object().unwrap();
        let fields: Vec<&str> = error.keys().map(String::as_str).collect();
        assert_eq!(fields.len(), 4, "{failed}");
        for field in ["exitCode", "reason", "message", "next"] {
            assert!(fields.contains(&field), "{failed}");
        }
        assert_eq!((&error["exitCode"], &error["reason"]), (&Value::from(code), &reason), "{failed}");
    }
}
