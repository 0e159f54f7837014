//! The process between `tenure` and CMD: it binds its lifetime to its parent's, then executes CMD.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::args::ExecArgs;
use crate::exit::{self, Failure};

/// Replaces this process by CMD.
///
/// # Errors
/// CMD cannot be executed; this function returns in no other case.
pub fn exec(args: &ExecArgs) -> Result<u8, Failure> {
    #[cfg(target_os = "linux")]
    die_with_parent(args.parent)?;
    let error = Command::new(&args.program).args(&args.arguments).exec();
    let program = args.program.to_string_lossy();
    Err(match error.kind() {
        ErrorKind::NotFound => Failure::new(exit::NOT_FOUND, format!("{program}: command not found")),
        _ => Failure::new(exit::CANNOT_RUN, format!("{program}: cannot be run: {error}")),
    })
}

#[cfg(target_os = "linux")]
fn die_with_parent(parent: i32) -> Result<(), Failure> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| {
        Failure::new(exit::CANNOT_RUN, format!("cannot bind the command's lifetime to tenure's: {error}"))
    })?;
    // The parent may have died before the call above.
    match getppid() {
        Some(pid) if pid.as_raw_nonzero().get() == parent => Ok(()),
        _ => Err(Failure::new(exit::CANNOT_RUN, "tenure ended before the command began")),
    }
}
