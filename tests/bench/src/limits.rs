//! What the system lets a process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most files and connections that a process of a work has open, and a few more.
const FILES: u64 = 4_096;

/// Lets this process, and those that it starts, have as many connections as they may.
pub fn raise() {
    let files = getrlimit(Resource::Nofile);
    // What fails for the lack of it says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    if let Some(most) = files.maximum.filter(|most| *most < FILES) {
        println!("only {most} open files are allowed (ulimit -Hn): the works with many connections need {FILES}");
    }
}
