//! Processor time and memory of the processes in a measurement, from /proc.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::{Deserialize, Serialize};

/// The processes of a measurement, except this one, which is the client. Each entry includes its descendants.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// The measured servers.
    pub server: Vec<u32>,
    /// The databases behind them.
    pub database: Vec<u32>,
}

/// The processor time used during a measurement, in cores (1.0 is one core all the time), and the memory at its end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Of this process.
    pub client: f64,
    /// Of the servers.
    pub server: f64,
    /// Of the databases behind them.
    pub database: f64,
    /// Of all other processes on this machine, which disturb the measurement.
    pub others: f64,
    /// The memory of the servers, in MB: their own pages, and their share of shared ones.
    pub server_memory: f64,
    /// The memory of the databases, in MB, likewise.
    pub database_memory: f64,
}

/// Processor times at the start of a measurement.
#[derive(Clone, Debug)]
pub struct Meter {
    processes: Processes,
    at: Instant,
    client: Duration,
    server: Duration,
    database: Duration,
    machine: Duration,
}

impl Meter {
    /// Reads the current times.
    pub fn start(processes: &Processes) -> Self {
        let table = Table::read();
        Self {
            processes: processes.clone(),
            at: Instant::now(),
            client: table.time_of(&[std::process::id()], false),
            server: table.time_of(&processes.server, true),
            database: table.time_of(&processes.database, true),
            machine: machine(),
        }
    }

    /// The usage since [`Meter::start`].
    pub fn usage(&self) -> Usage {
        let now = Self::start(&self.processes);
        let wall = (now.at - self.at).as_secs_f64();
        let cores = |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64() / wall;
        let (client, server) = (cores(self.client, now.client), cores(self.server, now.server));
        let database = cores(self.database, now.database);
        let table = Table::read();
        Usage {
            client,
            server,
            database,
            others: (cores(self.machine, now.machine) - client - server - database).max(0.0),
            server_memory: table.memory_of(&self.processes.server),
            database_memory: table.memory_of(&self.processes.database),
        }
    }
}

/// The current memory of the servers, in bytes.
pub fn server_memory(processes: &Processes) -> f64 {
    Table::read().memory_of(&processes.server) * 1e6
}

/// An allocator returns what was freed within this time (jemalloc: 10 s).
const RETURNED: Duration = Duration::from_secs(11);

/// The memory of idle servers, in bytes, once it no longer falls.
pub async fn settled_memory(processes: &Processes) -> f64 {
    let mut before = server_memory(processes);
    loop {
        tokio::time::sleep(RETURNED).await;
        let memory = server_memory(processes);
        if memory > before * 0.99 {
            return memory;
        }
        before = memory;
    }
}

/// The processor use, in cores, below which processes count as idle, and the time over which it is measured.
const IDLE: f64 = 0.1;
const SAMPLE: Duration = Duration::from_millis(500);

/// The limit of the wait for idleness.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Waits until these processes are idle. Returns how long that took.
///
/// # Errors
/// If they do not become idle.
pub async fn wait_until_idle(processes: &Processes) -> anyhow::Result<Duration> {
    let start = Instant::now();
    loop {
        let (meter, before) = (Meter::start(processes), start.elapsed());
        tokio::time::sleep(SAMPLE).await;
        let usage = meter.usage();
        if usage.server + usage.database < IDLE {
            return Ok(before);
        }
        ensure!(before < TIMEOUT, "still busy after {TIMEOUT:?}: {usage:?}");
    }
}

/// All processes: their parents, and the processor time used by them and their ended children.
struct Table(HashMap<u32, (u32, Duration)>);

impl Table {
    fn read() -> Self {
        let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Self(ids.filter_map(|id| Some((id, parent_and_time(id)?))).collect())
    }

    fn time_of(&self, roots: &[u32], with_children: bool) -> Duration {
        let all = if with_children { self.with_descendants(roots) } else { roots.to_vec() };
        all.iter().filter_map(|id| self.0.get(id)).map(|(_, time)| *time).sum()
    }

    /// In MB.
    fn memory_of(&self, roots: &[u32]) -> f64 {
        self.with_descendants(roots).into_iter().filter_map(memory).sum::<u64>() as f64 / 1e3
    }

    fn with_descendants(&self, roots: &[u32]) -> Vec<u32> {
        let mut found = roots.to_vec();
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(self.0.iter().filter(|(_, (of, _))| *of == parent).map(|(id, _)| *id));
            next += 1;
        }
        found
    }
}

/// From `/proc/<id>/stat`: `id (name) state parent ...`, of which the 14th to 17th are times.
fn parent_and_time(id: u32) -> Option<(u32, Duration)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some((parent, ticks_to_duration(ticks)))
}

fn ticks_to_duration(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The proportional set size of a process, in kB.
fn memory(id: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The time that all cores together were busy, or stolen by the hypervisor.
fn machine() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = stat.lines().next().unwrap_or_default();
    // cpu user nice system idle iowait irq softirq steal
    let fields = first.split_whitespace().skip(1).map(|field| field.parse::<u64>().unwrap_or_default());
    let busy = fields.take(8).enumerate().filter(|(index, _)| *index != 3 && *index != 4).map(|(_, ticks)| ticks);
    ticks_to_duration(busy.sum())
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    #[test]
    fn usage_counts_this_process() {
        let meter = Meter::start(&Processes { server: vec![std::process::id()], database: Vec::new() });
        // The wall time depends on other processes, so the loop counts processor time.
        let used = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("a time");
        let enough = used() + Duration::from_millis(100);
        while used() < enough {
            std::hint::spin_loop();
        }
        let usage = meter.usage();
        assert!(usage.client > 0.0 && usage.server > 0.0 && usage.server_memory > 1.0, "{usage:?}");
        assert!(usage.database == 0.0 && usage.database_memory == 0.0, "{usage:?}");
    }
}
