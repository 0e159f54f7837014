//! The machine of a run, on which its figures depend.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tenure_harness::{Flavour, MySqlPrograms, find};

use crate::measure::Latency;
use crate::target::redis::Product;
use crate::target::{peer, zookeeper};

/// The number of syncs to measure.
const SYNCS: usize = 200;

/// The size of the write before each sync, in bytes.
const BLOCK: usize = 4 << 10;

/// The machine, the disk and the programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The day, in UTC: `2026-11-21`.
    pub day: String,
    /// The commit of Tenure.
    pub commit: String,
    /// The processor's model name.
    pub processor: String,
    /// The number of cores, shared by clients, servers and databases.
    pub cores: usize,
    /// The memory, in GB.
    pub memory: f64,
    /// The kernel's version.
    pub kernel: String,
    /// How long writing and syncing 4 KiB takes, in the folder of all data.
    pub sync: Option<Latency>,
    /// The programs with their versions.
    pub versions: Vec<String>,
}

impl Machine {
    /// Inspects this machine.
    ///
    /// # Errors
    /// If the temporary folder cannot be written.
    pub fn look() -> anyhow::Result<Self> {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kilobytes = field(&memory, "MemTotal").split(' ').next().and_then(|number| number.parse::<f64>().ok());
        Ok(Self {
            day: output(Command::new("date").args(["-u", "+%F"])),
            commit: output(Command::new("git").args(["describe", "--always", "--dirty"])),
            processor: field(&cpus, "model name"),
            cores: std::thread::available_parallelism().map_or(0, Into::into),
            memory: kilobytes.unwrap_or_default() / 1e6,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string(),
            sync: Some(sync()?),
            versions: versions(),
        })
    }
}

/// The value of a line `name : value`.
fn field(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map(|(_, value)| value.trim().to_string()).unwrap_or_default()
}

fn sync() -> anyhow::Result<Latency> {
    let folder = tempfile::tempdir().context("making a temporary folder")?;
    let file = OpenOptions::new().create_new(true).write(true).open(folder.path().join("file"))?;
    file.write_all_at(&vec![1; SYNCS * BLOCK], 0)?;
    file.sync_all()?;
    let mut times: Vec<Duration> = Vec::new();
    for at in 0..SYNCS {
        let start = Instant::now();
        file.write_all_at(&[2; BLOCK], (at * BLOCK) as u64)?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Latency::of(times).context("no sync was measured")
}

fn versions() -> Vec<String> {
    let find = |name: &str, package: &str| Ok(Command::new(find(name, package)?));
    let programs = [
        find("postgres", "postgresql"),
        find("mariadbd", "mariadb-server"),
        MySqlPrograms::server(&[]),
        peer("etcd", "etcd-server"),
        Product::Redis.command(),
        Product::Valkey.command(),
    ];
    let versions = programs.into_iter().flatten().map(|mut program| output(program.arg("--version")));
    versions.chain(zookeeper::version()).filter(|version| !version.is_empty()).collect()
}

/// The first line of a program's output, in which programs may call themselves by their path. Empty if it cannot be run.
fn output(program: &mut Command) -> String {
    let output = program.current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default().trim();
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    format!("{name} {rest}").trim().to_owned()
}
