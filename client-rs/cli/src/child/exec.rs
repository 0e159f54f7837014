//! The step between `tenure` and CMD: a process that ties its lifetime to its parent's, then executes CMD.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::args::ExecArgs;
use crate::exit::{self, Failure};

/// Replaces this process by CMD. Returns only if that failed.
pub fn exec(args: &ExecArgs) -> Failure {
    if let Some(failure) = die_with_parent(args.parent) {
        return failure;
    }
    let Some((program, rest)) = args.command.split_first() else {
        return Failure::new(exit::USAGE, "no command to run");
    };
    let error = Command::new(program).args(rest).exec();
    let program = program.to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => Failure::new(exit::NOT_FOUND, format!("{program}: command not found")),
        _ => Failure::new(exit::CANNOT_RUN, format!("{program}: cannot be run: {error}")),
    }
}

#[cfg(target_os = "linux")]
fn die_with_parent(parent: i32) -> Option<Failure> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Some(Failure::new(exit::CANNOT_RUN, format!("cannot tie the command's life to tenure's: {error}")));
    }
    // The parent may have died before the call above.
    let orphaned = getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent);
    orphaned.then(|| Failure::new(exit::CANNOT_RUN, "tenure ended before the command began"))
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_parent: i32) -> Option<Failure> {
    None
}
