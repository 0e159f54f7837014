//! Process metrics, with the standard names of Prometheus client libraries. Only on Linux.

use std::fmt;

use procfs::WithCurrentSystemInfo;
use procfs::process::{self, LimitValue};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::metrics::exemplar::Exemplar;

#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read =
            process::Process::myself().and_then(|process| Ok((process.stat()?, procfs::boot_time_secs()?, process)));
        let Ok((stat, booted, process)) = read else { return Ok(()) };
        let ticks = procfs::ticks_per_second() as f64;
        let help = "Processor time used by this process, in seconds.";
        let mut metric = encoder.encode_descriptor("process_cpu_seconds", help, None, Counter)?;
        let used = (stat.utime + stat.stime) as f64 / ticks;
        metric.encode_counter::<[(&str, &str); 0], f64, f64>(&used, NO_EXEMPLAR)?;
        let help = "Start time of this process, in seconds since 1970.";
        let mut metric = encoder.encode_descriptor("process_start_time_seconds", help, None, Gauge)?;
        metric.encode_gauge(&(booted as f64 + stat.starttime as f64 / ticks))?;
        let mut gauge = |name: &str, help: &str, value: u64| {
            encoder.encode_descriptor(name, help, None, Gauge)?.encode_gauge(&value)
        };
        gauge("process_resident_memory_bytes", "Resident memory, in bytes.", stat.rss_bytes().get())?;
        gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", stat.vsize)?;
        if let Ok(open) = process.fd_count() {
            gauge("process_open_fds", "Open file descriptors.", open as u64)?;
        }
        if let Ok(limits) = process.limits() {
            let most = match limits.max_open_files.soft_limit {
                LimitValue::Value(most) => most,
                LimitValue::Unlimited => u64::MAX,
            };
            gauge("process_max_fds", "Maximum number of open file descriptors.", most)?;
        }
        gauge("process_threads", "Operating system threads.", stat.num_threads.unsigned_abs())
    }
}

const NO_EXEMPLAR: Option<&Exemplar<[(&str, &str); 0], f64>> = None;
