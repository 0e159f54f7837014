//! Runs many seeds, each in its own process. A seed therefore behaves identically whatever ran before it or runs beside
//! it, and a seed that hangs or crashes is reported as a violation.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use tenure_checker::Violation;

use crate::defect::Defect;
use crate::run::{self, Report};

/// CPU time limit of a seed: a seed that exceeds it hangs. Wall time would depend on the load of the machine.
const CPU_LIMIT: Duration = Duration::from_secs(60);

/// Wall time limit of a seed, for one that hangs without using the CPU.
const WALL_LIMIT: Duration = Duration::from_secs(3_600);

/// Maximum length of a reported violation, in bytes. A whole report must fit into a pipe.
const MAX_LENGTH: usize = 4_000;

/// Maximum number of reported violations per seed.
const MAX_VIOLATIONS: usize = 8;

/// Runs seeds, with a defect or without, in up to `jobs` processes, and passes each report to `report`, which returns
/// whether to continue. The calling process must have no other threads.
///
/// # Panics
/// If no process can be created.
pub fn run(
    mut seeds: impl Iterator<Item = u64>,
    defect: Option<Defect>,
    jobs: usize,
    mut report: impl FnMut(Report) -> bool,
) {
    let mut continues = true;
    let mut running: Vec<Running> = Vec::new();
    loop {
        while continues
            && running.len() < jobs
            && let Some(seed) = seeds.next()
        {
            running.push(Running::start(seed, defect));
        }
        if running.is_empty() {
            return;
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        let ended = unsafe { libc::wait(&raw mut status) };
        let index = running.iter().position(|running| running.process == ended);
        let running = running.swap_remove(index.expect("a running seed"));
        continues &= report(running.finish(status));
    }
}

/// A running seed.
struct Running {
    seed: u64,
    process: libc::pid_t,
    output: OwnedFd,
}

impl Running {
    fn start(seed: u64, defect: Option<Defect>) -> Self {
        let mut ends = [0; 2];
        // SAFETY: `ends` has space for both descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0, "a pipe");
        // SAFETY: the descriptors were just created and have no other owner.
        let (reads, writes) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        // SAFETY: the process has no other threads, so no lock is held in the child.
        match unsafe { libc::fork() } {
            -1 => panic!("no process for another seed"),
            0 => {
                let seconds = CPU_LIMIT.as_secs();
                let limit = libc::rlimit { rlim_cur: seconds, rlim_max: seconds };
                // SAFETY: the limits affect only this process.
                unsafe {
                    libc::setrlimit(libc::RLIMIT_CPU, &raw const limit);
                    libc::alarm(u32::try_from(WALL_LIMIT.as_secs()).unwrap_or(u32::MAX));
                }
                let report = run::run(seed, defect, false);
                let written = File::from(writes).write_all(write(&report).as_bytes());
                // SAFETY: the child has nothing left to clean up.
                unsafe { libc::_exit(i32::from(written.is_err())) }
            }
            process => Self { seed, process, output: reads },
        }
    }

    fn finish(self, status: libc::c_int) -> Report {
        let mut text = String::new();
        let read = File::from(self.output).read_to_string(&mut text);
        let report = read.ok().filter(|_| status == 0).and_then(|_| parse(self.seed, &text));
        report.unwrap_or_else(|| {
            let seen = format!("its process ended with status {status}: {text}");
            let violations = vec![Violation { rule: "a run ends".into(), seen }];
            Report { seed: self.seed, violations, ..Report::default() }
        })
    }
}

fn write(report: &Report) -> String {
    let mut text = format!("{} {} {}\n", report.steps, report.trace, report.acquired);
    for Violation { rule, seen } in report.violations.iter().take(MAX_VIOLATIONS) {
        let seen: String =
            seen.chars().take(MAX_LENGTH).map(|letter| if letter == '\n' { ' ' } else { letter }).collect();
        text.push_str(&format!("{rule}\t{seen}\n"));
    }
    text
}

fn parse(seed: u64, text: &str) -> Option<Report> {
    let mut lines = text.lines();
    let mut figures = lines.next()?.split(' ');
    let mut figure = || figures.next()?.parse::<u64>().ok();
    let (steps, trace, acquired) = (figure()?, figure()?, figure()?);
    let violations = lines.filter_map(|line| line.split_once('\t'));
    let violations = violations.map(|(rule, seen)| Violation { rule: rule.to_owned().into(), seen: seen.to_owned() });
    Some(Report { seed, steps, trace, acquired, violations: violations.collect() })
}
