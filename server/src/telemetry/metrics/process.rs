//! Process metrics, with the standard names of Prometheus client libraries.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(Process));
}

#[derive(Debug)]
struct Process;

/// The state of the process.
struct Facts {
    cpu_seconds: f64,
    start_time: f64,
    resident: u64,
    virtual_memory: u64,
    open_files: Option<u64>,
    most_files: Option<u64>,
    threads: i64,
}

#[cfg(target_os = "linux")]
fn facts() -> Option<Facts> {
    use procfs::WithCurrentSystemInfo;
    use procfs::process::{LimitValue, Process};

    let process = Process::myself().ok()?;
    let stat = process.stat().ok()?;
    let ticks = procfs::ticks_per_second() as f64;
    let files = process.limits().ok().map(|limits| limits.max_open_files.soft_limit);
    Some(Facts {
        cpu_seconds: (stat.utime + stat.stime) as f64 / ticks,
        start_time: procfs::boot_time_secs().ok()? as f64 + stat.starttime as f64 / ticks,
        resident: stat.rss_bytes().get(),
        virtual_memory: stat.vsize,
        open_files: process.fd_count().ok().map(|count| count as u64),
        most_files: files.map(|limit| match limit {
            LimitValue::Value(most) => most,
            LimitValue::Unlimited => u64::MAX,
        }),
        threads: stat.num_threads,
    })
}

#[cfg(not(target_os = "linux"))]
fn facts() -> Option<Facts> {
    None
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(facts) = facts() else { return Ok(()) };
        let help = "Processor time used by this process, in seconds.";
        let mut metric = encoder.encode_descriptor("process_cpu_seconds", help, None, Counter)?;
        metric.encode_counter::<[(&str, &str); 0], f64, f64>(&facts.cpu_seconds, NO_EXEMPLAR)?;
        let help = "Start time of this process, in seconds since 1970.";
        let mut metric = encoder.encode_descriptor("process_start_time_seconds", help, None, Gauge)?;
        metric.encode_gauge(&facts.start_time)?;
        let mut gauge = |name: &str, help: &str, value: Option<u64>| match value {
            Some(value) => encoder.encode_descriptor(name, help, None, Gauge)?.encode_gauge(&value),
            None => Ok(()),
        };
        gauge("process_resident_memory_bytes", "Resident memory, in bytes.", Some(facts.resident))?;
        gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", Some(facts.virtual_memory))?;
        gauge("process_open_fds", "Open file descriptors.", facts.open_files)?;
        gauge("process_max_fds", "Maximum number of open file descriptors.", facts.most_files)?;
        gauge("process_threads", "Operating system threads.", u64::try_from(facts.threads).ok())
    }
}

const NO_EXEMPLAR: Option<&Exemplar<[(&str, &str); 0], f64>> = None;
