//! The resource usage of a process, from /proc.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

/// The resource usage of a process.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Usage {
    /// Its memory, in MB.
    pub memory: f64,
    /// Its peak memory, in MB.
    pub most_memory: f64,
    /// The number of its open descriptors.
    pub descriptors: usize,
    /// The number of its threads.
    pub threads: usize,
    /// The CPU time that it has used, in seconds.
    pub processor: f64,
}

impl Usage {
    /// Reads the current usage.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn of(process: u32) -> anyhow::Result<Self> {
        let read = |file: &str| {
            fs::read_to_string(format!("/proc/{process}/{file}")).with_context(|| format!("{file} of {process}"))
        };
        let status = read("status")?;
        let field = |name: &str| -> anyhow::Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let word = line.and_then(|line| line.split_whitespace().next()).with_context(|| format!("no {name}"))?;
            Ok(word.parse()?)
        };
        Ok(Self {
            memory: field("VmRSS")? / 1e3,
            most_memory: field("VmHWM")? / 1e3,
            descriptors: fs::read_dir(format!("/proc/{process}/fd"))?.count(),
            threads: field("Threads")? as usize,
            processor: processor_time(&read("stat")?).context("no times in stat")?.as_secs_f64(),
        })
    }
}

/// Parses `id (name) state parent ...`, whose fields 14 and 15 are times.
fn processor_time(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks: u64 = fields.get(11..13)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_of_this_process_is_read() {
        let usage = Usage::of(std::process::id()).expect("the usage of this process");
        assert!(usage.memory > 1.0 && usage.most_memory >= usage.memory, "{usage:?}");
        assert!(usage.descriptors >= 3 && usage.threads >= 1, "{usage:?}");
    }
}
