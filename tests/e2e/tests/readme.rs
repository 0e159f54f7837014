//! What READMEs say of grpcurl: the lines work as written, one after the other, against a fresh server.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tenure_harness::{Tenured, TenuredOptions};

/// How long a call may take, and how long a watch is watched that says nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pages that have such lines, the first ones first.
const PAGES: [&str; 2] = ["proto/README.md", "README.md"];

/// What they must show.
const SHOWN: [&str; 7] = ["Acquire", "Renew", "Release", "ListLocks", "Watch", "ListHistory", "JoinGroup"];

/// The commands in a page's `sh` blocks that begin with `grpcurl`, with lines that go on after a backslash joined.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut inside = false;
    let mut begun = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            begun.push_str(line.trim_end_matches('\\'));
            if !line.ends_with('\\') {
                let command = std::mem::take(&mut begun);
                commands.extend(Some(command).filter(|command| command.trim_start().starts_with("grpcurl")));
            }
        }
    }
    commands
}

fn start(command: &str) -> Child {
    Command::new("sh").args(["-c", command]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends by itself, and well.
fn call(command: &str) {
    let mut child = start(command);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("this hangs: {command}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command}\n{said}");
    println!("{command}\n{said}");
}

/// Says something, and would go on.
fn watch(command: &str) {
    // So that the watch itself is killed, and not only a shell around it.
    let mut child = start(&format!("exec {command}"));
    let mut said = [0; 1];
    let read = child.stdout.take().unwrap().read(&mut said);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(read.unwrap(), 1, "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{command}\n(goes on)");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs grpcurl, which `cargo xtask test` brings"]
async fn grpcurl_lines_work_as_written() {
    let commands: Vec<String> = PAGES.iter().flat_map(|page| commands(&read(page))).collect();
    for verb in SHOWN {
        assert!(commands.iter().any(|command| command.contains(verb)), "no page shows {verb} with grpcurl");
    }
    let server = Tenured::start(&TenuredOptions::default()).await.unwrap();
    let address = server.url().replace("http://", "");
    for command in commands {
        let command = command.replace("localhost:7420", &address).replace("127.0.0.1:7420", &address);
        let work = if command.contains("Watch") { watch } else { call };
        tokio::task::spawn_blocking(move || work(&command)).await.unwrap();
    }
}

fn read(page: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap()
}
