//! Resource limits of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// An upper bound of the files and connections that a process of a work has open.
const FILES: u64 = 4_096;

/// Raises the limit of open files of this process, which its children inherit, to the hard limit.
pub fn raise() {
    let files = getrlimit(Resource::Nofile);
    // If the limit is still too low, the failing call reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    if let Some(most) = files.maximum.filter(|most| *most < FILES) {
        println!("only {most} open files are allowed (ulimit -Hn): the works with many connections need {FILES}");
    }
}
