//! The guard: a process that stops CMD when `tenure` cannot, because it is frozen or was killed.
//!
//! It reads lines from its standard input: `until N` (the hold is valid until N nanoseconds after boot), `termed` (CMD
//! was sent SIGTERM), `done` (CMD has ended by itself). End of input without `done` means that `tenure` is dead.

use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use super::process::{MAX_SLEEP, Tree, since_boot};
use super::schedule::{Action, Schedule};
use crate::args::GuardArgs;
use crate::exit::{self, Failure};
use crate::output::{escape, say};

/// Guards CMD until it has ended. Returns whether `tenure` and all that it ran are dead, so that nothing runs under the
/// lock and it may be released.
///
/// # Errors
/// The arguments differ from those that `tenure` passes.
pub fn guard(args: &GuardArgs) -> Result<bool, Failure> {
    // Signals to `tenure`'s terminal or service must not end its guard; only SIGKILL can.
    let _ = SigSet::all().thread_block();
    let group = Pid::from_raw(args.group).ok_or_else(|| Failure::new(exit::USAGE, "no such process group"))?;
    let tree = Tree { group, run: args.run.clone() };
    let schedule = Schedule {
        term_before: Duration::from_nanos(args.term_before),
        kill_before: Duration::from_nanos(args.kill_before),
    };
    Ok(supervise(&tree, schedule.for_guard(), &escape(&args.lock)))
}

fn supervise(tree: &Tree, schedule: Schedule, lock: &str) -> bool {
    let mut input = Vec::new();
    let mut end = None;
    let mut termed = false;
    loop {
        let now = since_boot();
        let until = match end.map(|end| schedule.due(now, end)) {
            None => now + MAX_SLEEP,
            Some(Action::Wait(at)) => at,
            Some(Action::Term(kill_at)) => {
                if !termed {
                    termed = true;
                    say(&format!("tenure: {lock} is not being renewed (is tenure frozen?): SIGTERM to the command"));
                    tree.terminate();
                }
                kill_at
            }
            Some(Action::Kill) => {
                say(&format!("tenure: {lock} is about to expire: killing what is left of the command"));
                tree.kill();
                return false;
            }
        };
        let Some(lines) = read(&mut input, until.saturating_sub(now).min(MAX_SLEEP)) else {
            say(&format!("tenure was killed: killing the command that it ran under {lock}"));
            return tree.kill();
        };
        for line in lines.lines() {
            match line.split_once(' ') {
                Some(("until", nanos)) => {
                    let Ok(at) = nanos.parse().map(Duration::from_nanos) else { continue };
                    end = Some(at);
                    termed = termed && !matches!(schedule.due(since_boot(), at), Action::Wait(_));
                }
                None if line == "termed" => termed = true,
                None if line == "done" => return false,
                _ => {}
            }
        }
    }
}

/// All complete lines that arrive within `timeout`; `input` keeps the start of an incomplete one. None at the end of
/// the input. Reads whatever has arrived at once: acting on an old deadline before a newer one would kill CMD.
fn read(input: &mut Vec<u8>, timeout: Duration) -> Option<String> {
    let stdin = rustix::stdio::stdin();
    let mut buffer = [0; 4096];
    let timeout = Timespec::try_from(timeout).ok()?;
    let count = match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(0) => return Some(String::new()),
        Ok(_) => rustix::io::read(stdin, &mut buffer),
        Err(error) => Err(error),
    };
    match count {
        Ok(count @ 1..) => input.extend_from_slice(&buffer[..count]),
        Err(Errno::INTR) => {}
        Ok(0) | Err(_) => return None,
    }
    let complete = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    Some(String::from_utf8_lossy(&input.drain(..complete).collect::<Vec<u8>>()).into_owned())
}
