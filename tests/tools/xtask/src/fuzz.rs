//! Fuzzing in the long form: each target under libFuzzer, one after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;

use crate::programs::{cargo, root};

/// What to fuzz, and for how long.
#[derive(Args)]
pub struct Fuzzing {
    /// Only these targets. Default: all.
    targets: Vec<String>,
    /// For how long each.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

/// The program with the targets. It is built separately, since all its code is instrumented.
const PACKAGE: &str = "tests/hostile/fuzz/libfuzzer/Cargo.toml";

/// The folder of the targets' corpora.
const CORPUS: &str = "tests/hostile/fuzz/corpus";

/// The folder of the build and of the findings.
const FOLDER: &str = "target/libfuzzer";

/// The flags of cargo-fuzz, without an address sanitizer: Rust guarantees memory safety.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The limits: of an input, in bytes; of its time, in seconds; and of the program's memory, in MB.
const BOUNDS: [&str; 3] = ["-max_len=4096", "-timeout=25", "-rss_limit_mb=2048"];

/// Builds the program and runs the targets.
pub fn run(fuzzing: &Fuzzing) -> anyhow::Result<()> {
    let known = targets()?;
    if let Some(unknown) = fuzzing.targets.iter().find(|name| !known.contains(name)) {
        bail!("unknown target {unknown}, expected one of {}", known.join(", "));
    }
    let program = build()?;
    let chosen = known.iter().filter(|name| fuzzing.targets.is_empty() || fuzzing.targets.contains(name));
    let mut failed = Vec::new();
    for name in chosen {
        if !fuzz(&program, name, fuzzing)? {
            failed.push(name.as_str());
        }
    }
    if !failed.is_empty() {
        bail!("failed targets: {}", failed.join(", "));
    }
    Ok(())
}

/// The names of all targets: each has a corpus.
fn targets() -> anyhow::Result<Vec<String>> {
    let folders = fs::read_dir(root().join(CORPUS))?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<String> = folders.iter().map(|folder| folder.file_name().display().to_string()).collect();
    names.sort_unstable();
    Ok(names)
}

/// For an explicit platform, so that build scripts and macros are not instrumented.
fn build() -> anyhow::Result<PathBuf> {
    let version = Command::new("rustc").current_dir(root()).arg("-vV").output()?;
    let version = String::from_utf8(version.stdout)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut build = cargo(&["build", "--locked", "--release", "--manifest-path", PACKAGE, "--target-dir", FOLDER]);
    build.args(["--target", host]).env("RUSTFLAGS", INSTRUMENTED).run()?;
    Ok(root().join(FOLDER).join(host).join("release/target"))
}

/// Runs one target, and prints the result. Returns false if a property does not hold.
fn fuzz(program: &Path, name: &str, fuzzing: &Fuzzing) -> anyhow::Result<bool> {
    let (kept, found) = (root().join(CORPUS).join(name), root().join(FOLDER).join("corpus").join(name));
    let crashes = root().join(FOLDER).join("crashes").join(name);
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&crashes)?;
    let output = libfuzzer(program, name)
        .arg(format!("-max_total_time={}", fuzzing.seconds))
        .arg(format!("-artifact_prefix={}/", crashes.display()))
        .args(["-print_final_stats=1", "-verbosity=1"])
        .args([&found, &kept])
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let figure = |name: &str| {
        let line = text.lines().rev().find_map(|line| line.strip_prefix(&format!("stat::{name}:")));
        line.map_or("?", str::trim).to_owned()
    };
    let crashed = if output.status.success() { "no crash" } else { "CRASHED" };
    println!(
        "{name}: {} executions, {} a second, {} new inputs, {} MB, {crashed}",
        figure("number_of_executed_units"),
        figure("average_exec_per_sec"),
        figure("new_units_added"),
        figure("peak_rss_mb"),
    );
    if !output.status.success() {
        print_failure(&text, &crashes);
        return Ok(false);
    }
    Ok(true)
}

fn libfuzzer(program: &Path, name: &str) -> Command {
    let mut command = Command::new(program);
    command.env("TENURE_FUZZ_TARGET", name).args(BOUNDS);
    command
}

/// Prints the end of the program's output, and the path of the input.
fn print_failure(text: &str, crashes: &Path) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
    eprintln!(
        "The input is in {}. After the fix, keep it in the corpus under a name that describes it.",
        crashes.display()
    );
}
