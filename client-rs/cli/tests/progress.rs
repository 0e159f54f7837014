//! Progress messages while a command waits.

use crate::support;

use std::collections::BTreeSet;
use std::time::Instant;

use rustix::process::Signal;
use support::terminal::Terminal;
use support::{PATIENCE, ended, json, run, server, signal, stderr, tenure, waiters};
use tenure_harness::{Tenured, wait_until};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

const WIPED: &str = "\r\u{1b}[2K";

async fn hold(server: &Tenured, name: &str, session: &str, owner: &str) -> String {
    let granted = json(server, 0, &["acquire", name, "--session", session, "--ttl", "10m", "--owner", owner]).await;
    granted["token"].as_str().unwrap().to_owned()
}

/// The hold durations shown for ann.
fn times(shown: &str) -> BTreeSet<&str> {
    let lines = shown.split("held for ").skip(1);
    lines.filter_map(|rest| rest.split_once(" by ann")).map(|(time, _)| time).collect()
}

fn errors(child: &mut Child) -> Lines<BufReader<ChildStderr>> {
    BufReader::new(child.stderr.take().unwrap()).lines()
}

#[tokio::test]
async fn terminal_shows_place_holder_and_wait_in_one_changing_line() {
    let server = server().await;
    let token = hold(&server, "job", "a", "ann").await;
    let first = tenure(&server.url(), &["lock", "--priority", "1", "job", "--", "true"]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    let waiting = Terminal::start(&server.url(), 120, &[], &["lock", "job", "--", "echo", "done"]);
    waiting.shows("waiting for job (you are 2nd of 2): held for ").await;
    waiting.shows(&format!(" by ann, session a, token {token}")).await;
    wait_until(PATIENCE, "the time goes on", async || times(&waiting.shown()).len() >= 3).await;
    let second = tenure(&server.url(), &["lock", "--priority", "2", "job", "--", "true"]).spawn().unwrap();
    waiting.shows("(you are 3rd of 3)").await;
    json(&server, 0, &["close", "a"]).await;
    let (code, shown) = waiting.end().await;
    assert_eq!(code, Some(0), "{shown}");
    let last = shown.rsplit(WIPED).next().unwrap();
    assert_eq!(last.trim(), "done", "the line is wiped off before the command runs: {shown:?}");
    let before = shown.strip_suffix(last).unwrap();
    assert!(!before.contains('\n'), "it is one line: {shown:?}");
    for other in [first, second] {
        assert!(ended(other).await.status.success());
    }
}

#[tokio::test]
async fn narrow_terminal_shows_the_most_important_parts_without_wrapping() {
    let server = server().await;
    hold(&server, "job", &"s".repeat(100), "ann").await;
    let waiting = Terminal::start(&server.url(), 60, &[], &["lock", "job", "--", "true"]);
    waiting.shows("waiting for job (you are next): held for ").await;
    waiting.shows("s by ann").await;
    // Ctrl-C would be SIGINT, which a test runner started in the background may have set to be ignored.
    signal(waiting.child(), Signal::TERM);
    let (code, shown) = waiting.end().await;
    assert_eq!(code, Some(143));
    assert!(shown.split(WIPED).all(|line| line.trim_end().chars().count() < 60), "{shown:?}");
}

#[tokio::test]
async fn log_reports_the_start_of_the_wait_and_each_change_of_holder() {
    let server = server().await;
    let token = hold(&server, "job", "a", "ann").await;
    let mut waiting = tenure(&server.url(), &["lock", "job", "--", "true"]).spawn().unwrap();
    let mut lines = errors(&mut waiting);
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(line.starts_with("tenure: waiting for job (you are next): held since 2"), "{line}");
    assert!(line.ends_with(&format!("Z by ann, session a, token {token}")), "{line}");

    // Other sessions that join or leave the queue are not reported.
    let other = tenure(
        &server.url(),
        &[
            "acquire",
            "job",
            "--session",
            "b",
            "--ttl",
            "10m",
            "--owner",
            "bob",
            "-w",
            "1h",
            "--priority",
            "9",
            "--quiet",
        ],
    )
    .spawn()
    .unwrap();
    waiters(&server, "job", "2").await;
    json(&server, 0, &["close", "a"]).await;
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(
        line.starts_with("tenure: waiting for job (you are next): held since 2") && line.contains(" by bob, "),
        "{line}"
    );
    assert!(stderr(&ended(other).await).is_empty(), "--quiet prints nothing");
    json(&server, 0, &["close", "b"]).await;
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(line.starts_with("tenure: acquired job after ") && line.contains(", token "), "{line}");
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn frequent_changes_of_holder_are_throttled_in_a_log() {
    let server = server().await;
    hold(&server, "job", "a", "ann").await;
    let low = ["lock", "--priority", "-1", "job", "--", "true"];
    let waiting = tenure(&server.url(), &low).spawn().unwrap();
    waiters(&server, "job", "1").await;
    // Whenever the lock becomes free, another session already waits, ahead of the one under test.
    let begun = Instant::now();
    let mut holders = 0_u32;
    let mut holder = "a".to_owned();
    while begun.elapsed().as_secs() < 4 {
        let next = format!("holder-{holders}");
        let arguments = ["acquire", "job", "--session", &next, "--ttl", "10m", "-w", "1h", "--quiet"];
        let next_holder = tenure(&server.url(), &arguments).spawn().unwrap();
        waiters(&server, "job", "2").await;
        json(&server, 0, &["close", &holder]).await;
        assert!(ended(next_holder).await.status.success());
        (holder, holders) = (next, holders + 1);
    }
    json(&server, 0, &["close", &holder]).await;
    let output = ended(waiting).await;
    let lines = stderr(&output).lines().filter(|line| line.contains("waiting for")).count();
    assert!((1..=4).contains(&lines), "{lines} lines for {holders} holders: {}", stderr(&output));
}

#[tokio::test]
async fn dumb_terminal_is_treated_as_a_log() {
    let server = server().await;
    hold(&server, "job", "a", "ann").await;
    let waiting = Terminal::start(&server.url(), 120, &[("TERM", "dumb")], &["lock", "job", "--", "true"]);
    waiting.shows("tenure: waiting for job (you are next): held since ").await;
    json(&server, 0, &["close", "a"]).await;
    let (code, shown) = waiting.end().await;
    assert_eq!(code, Some(0));
    assert!(!shown.contains('\u{1b}') && shown.contains("tenure: acquired job after "), "{shown:?}");
}

#[tokio::test]
async fn quiet_and_short_waits_print_nothing() {
    let server = server().await;
    hold(&server, "job", "a", "ann").await;
    let output = run(&server, &["lock", "-w", "100ms", "-q", "job", "--", "true"]).await;
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    let quiet = Terminal::start(&server.url(), 120, &[], &["lock", "-w", "1500ms", "-q", "job", "--", "true"]);
    assert_eq!(quiet.end().await, (Some(1), String::new()));
    let output = run(&server, &["lock", "-w", "100ms", "job", "--", "true"]).await;
    assert!(stderr(&output).starts_with("tenure: job not acquired: held by ann"), "{}", stderr(&output));
}

#[tokio::test]
async fn terminal_shows_the_remaining_drain_of_a_handoff() {
    let server = server().await;
    hold(&server, "job", "a", "ann").await;
    let next = tenure(&server.url(), &["lock", "job", "--", "true"]).spawn().unwrap();
    waiters(&server, "job", "1").await;
    let transfer = Terminal::start(&server.url(), 120, &[], &["transfer", "job", "--drain", "1h"]);
    transfer.shows("waiting for the holder of job to hand over; it has 59m5").await;
    json(&server, 0, &["close", "a"]).await;
    let (code, shown) = transfer.end().await;
    assert_eq!(code, Some(1), "{shown}");
    assert!(ended(next).await.status.success());
}

#[tokio::test]
async fn unreachable_server_is_reported_before_the_failure() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let waiting = Terminal::start(&url, 120, &[], &["--timeout", "5", "lock", "job", "--", "true"]);
    let (code, shown) = waiting.end().await;
    assert_eq!(code, Some(69), "{shown}");
    // A busy machine may show only one of them.
    let is_shown = |left: u64| shown.contains(&format!("no server has replied yet; retrying for {left}s more"));
    assert!((1..=4).any(is_shown), "{shown:?}");
    assert!(shown.rsplit(WIPED).next().unwrap().contains("connection refused"), "{shown:?}");
}
