//! Tests that the examples run.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

use std::process::Command;

use tenure_harness::{Tenured, TenuredOptions, built};

#[tokio::test]
async fn fenced_write_works_as_it_says() {
    let server = Tenured::start(&TenuredOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(built("examples/fenced_write").unwrap());
    command.arg(folder.path().join("work.db")).env("TENURE_ENDPOINTS", server.url());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let mut tokens = Vec::new();
    let deeds: Vec<&str> = said
        .lines()
        .map(|line| {
            tokens.extend(line.split(' ').skip(1).map(|fact| fact.split_once('=').unwrap().1.parse::<u64>().unwrap()));
            line.split(' ').next().unwrap_or_default()
        })
        .collect();
    assert_eq!(deeds, ["acquired", "wrote", "acquired", "wrote", "refused"], "{said}");
    let [first, next, refused, highest] = tokens[..] else { panic!("{said}") };
    assert!(first < next && (refused, highest) == (first, next), "{said}");
}
