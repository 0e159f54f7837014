//! The short form of the simulation: no seed breaks a promise.

use std::process::{Command, Output};

/// How many seeds must be clean.
const CLEAN: u32 = 200;

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().expect("a simulation")
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn no_seed_breaks_a_promise() {
    let output = sim(&["--seeds", &CLEAN.to_string()]);
    assert!(output.status.success(), "{}", lines(&output).join("\n"));
}

#[test]
fn a_seed_is_always_the_same() {
    let traces = |jobs: &str| {
        let output = sim(&["--seeds", "12", "--verbose", "--jobs", jobs]);
        let mut traces: Vec<String> = lines(&output).into_iter().filter(|line| line.contains("trace")).collect();
        traces.sort();
        traces
    };
    let alone = traces("1");
    assert_eq!(alone.len(), 12);
    assert_eq!(alone, traces("4"));
}
