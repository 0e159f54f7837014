//! Runs the examples as programs.

use crate::support;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use support::{Cluster, within};
use tenure_harness::Yardstick;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

struct Example {
    _program: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Example {
    fn start(name: &str, cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<Self> {
        let endpoints: Vec<String> = (0..cluster.servers.len()).map(|number| cluster.relay(number).url()).collect();
        let mut program = Command::new(built(name)?)
            .args(arguments)
            .env("TENURE_ENDPOINTS", endpoints.join(","))
            .env_remove("TENURE_NAMESPACE")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = program.stdout.take().context("the output is piped")?;
        Ok(Self { _program: program, lines: BufReader::new(output).lines() })
    }

    /// Reads up to the next line that begins with `begin`.
    async fn line_that_begins_with(&mut self, begin: &str) -> anyhow::Result<String> {
        within(async {
            loop {
                let line = self.lines.next_line().await?.with_context(|| format!("it ended before \"{begin}\""))?;
                if line.starts_with(begin) {
                    return Ok(line);
                }
            }
        })
        .await
    }
}

/// Returns the path of an example; Cargo builds the examples beside the tests.
fn built(name: &str) -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let program = test.ancestors().nth(2).context("target/debug/deps/test")?.join("examples").join(name);
    anyhow::ensure!(program.is_file(), "{} is not built: run `cargo build --examples`", program.display());
    Ok(program)
}

#[tokio::test(flavor = "multi_thread")]
async fn health_example_replaces_the_hung_copy() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let mut first = Example::start("health", &cluster, &["first", "8"])?;
    let token = first.line_that_begins_with("work").await?;
    let mut second = Example::start("health", &cluster, &["second"])?;
    first.line_that_begins_with("hanging").await?;
    let (hung, yardstick) = (Instant::now(), Yardstick::start());
    assert_eq!(first.line_that_begins_with("lost").await?, "lost: not renewed, because the program made no progress");
    assert_ne!(second.line_that_begins_with("work").await?, token);
    // The documented bound.
    yardstick.assert_in_time(&[hung.elapsed()], Duration::from_millis(2_200));
    Ok(())
}
