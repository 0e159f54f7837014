//! Output on a terminal, and output to a pipe.

use crate::support;

use support::terminal::Terminal;
use support::{json, run, server, stderr};
use tenure_harness::Tenured;

const COLOUR: &str = "\u{1b}[";

/// A server with locks whose rows are wide.
async fn with_locks() -> Tenured {
    let server = server().await;
    for number in 1..4 {
        let (name, session) =
            (format!("jobs/nightly-report-{number}"), format!("0199aaaa-bbbb-cccc-dddd-00000000000{number}"));
        let owner = format!("worker-{number}.example.com");
        json(&server, 0, &["acquire", &name, "--session", &session, "--ttl", "1m", "--owner", &owner]).await;
    }
    server
}

async fn at(server: &Tenured, width: u16, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let (code, shown) = Terminal::start(&server.url(), width, environment, arguments).end().await;
    assert_eq!(code, Some(0), "{shown}");
    shown
}

/// Returns the lines without colours.
fn lines(shown: &str) -> Vec<String> {
    let plain = shown.replace("\u{1b}[0m", "");
    let codes = ["1", "2", "31", "32", "33"];
    let plain = codes.iter().fold(plain, |text, code| text.replace(&format!("{COLOUR}{code}m"), ""));
    plain.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

#[tokio::test]
async fn colours_are_used_only_at_terminals_that_allow_them() {
    let server = with_locks().await;
    let shown = at(&server, 120, &[], &["ls"]).await;
    assert!(shown.contains("\u{1b}[1mNAME\u{1b}[0m") && shown.contains("\u{1b}[32mheld\u{1b}[0m"), "{shown}");
    for unwanted in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for arguments in [&["ls"][..], &["doctor"], &["cheat"], &["--help"]] {
            let shown = at(&server, 120, &[unwanted, ("CI", "true")], arguments).await;
            assert!(!shown.contains(COLOUR), "{unwanted:?} {arguments:?}: {shown}");
        }
    }
    let shown = at(&server, 120, &[("NO_COLOR", "")], &["ls"]).await;
    assert!(shown.contains(COLOUR), "an empty NO_COLOR has no effect");
    for arguments in [&["ls"][..], &["doctor"], &["cheat"], &["--help"], &["top"]] {
        let output = run(&server, arguments).await;
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{arguments:?} in a pipe");
    }
}

#[tokio::test]
async fn tables_fit_the_width_of_the_terminal() {
    let server = with_locks().await;
    let piped = String::from_utf8(run(&server, &["ls"]).await.stdout).unwrap();
    assert!(piped.lines().nth(1).unwrap().contains("0199aaaa-bbbb-cccc-dddd-000000000001"), "{piped}");
    for width in [120, 80, 60, 40] {
        let shown = lines(&at(&server, width, &[], &["ls"]).await);
        assert!(shown.iter().all(|line| line.chars().count() <= usize::from(width)), "{width}: {shown:#?}");
        let rows = shown.iter().filter(|line| line.starts_with("jobs/")).count();
        assert_eq!(rows, 3, "a row is a line, at {width}: {shown:#?}");
    }
    let shown = lines(&at(&server, 80, &[], &["ls"]).await);
    assert!(shown[1].contains("worker-1.example.com"), "{shown:#?}");
    assert!(shown.iter().any(|line| line == "(no space for SESSION)"), "{shown:#?}");
    let shown = lines(&at(&server, 95, &[], &["ls"]).await);
    assert!(shown[1].contains("…0000001"), "the distinguishing part of the id is kept: {shown:#?}");
}

#[tokio::test]
async fn unknown_width_is_taken_from_columns() {
    let server = with_locks().await;
    let shown = lines(&at(&server, 0, &[("COLUMNS", "50")], &["ls"]).await);
    assert!(shown.iter().all(|line| line.chars().count() <= 50), "{shown:#?}");
}

#[tokio::test]
async fn empty_results_are_reported_on_stderr() {
    let server = server().await;
    for arguments in [&["ls"][..], &["ls", "jobs/"], &["sessions"], &["blocked"], &["group", "ls"], &["history", "job"]]
    {
        let output = run(&server, arguments).await;
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}: {}", stderr(&output));
    }
    let output = run(&server, &["ls", "jobs/"]).await;
    assert_eq!(stderr(&output), "no lock whose name begins with jobs/ is held or waited for\n");
    assert_eq!(json(&server, 0, &["ls"]).await["locks"], serde_json::json!([]));
}

#[tokio::test]
async fn json_is_indented_at_a_terminal_and_one_line_in_a_pipe() {
    let server = with_locks().await;
    for arguments in [["-o", "json", "ls"], ["-o", "json", "doctor"]] {
        assert!(at(&server, 80, &[], &arguments).await.lines().count() > 10);
        assert_eq!(String::from_utf8(run(&server, &arguments).await.stdout).unwrap().lines().count(), 1);
    }
}
