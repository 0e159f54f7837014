//! The guard: a process that stops CMD when `tenure` cannot, because it is frozen or was killed.
//!
//! It reads lines from its standard input: `until N` (the hold is valid until N nanoseconds after boot), `termed` (CMD
//! has been sent SIGTERM), `done` (CMD has ended by itself). End of input without `done` means that `tenure` is dead.

use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use super::process::{Tree, since_boot};
use super::schedule::{Action, Schedule};
use crate::args::GuardArgs;
use crate::exit::{self, Failure};
use crate::output::{plain, say};

/// The maximum sleep: sleep timers stop during suspend, so the clock is read again.
const NAP: Duration = Duration::from_millis(250);

/// One line of the input.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Until(Duration),
    Termed,
    Done,
}

/// The reason why the guard ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing is left to guard.
    Done,
    /// `tenure` and all that it ran are dead: nothing runs under the lock, which may be released.
    Orphaned,
}

/// Guards CMD until it has ended.
///
/// # Errors
/// The arguments differ from those that `tenure` passes.
pub fn guard(args: &GuardArgs) -> Result<Left, Failure> {
    // Signals to `tenure`'s terminal or service must not end its guard; only SIGKILL can.
    let _ = SigSet::all().thread_block();
    let group = Pid::from_raw(args.group).ok_or_else(|| Failure::new(exit::USAGE, "no such process group"))?;
    let tree = Tree::new(group, args.run.clone());
    let schedule = Schedule {
        term_before: Duration::from_nanos(args.term_before),
        kill_before: Duration::from_nanos(args.kill_before),
    };
    Ok(watch_over(&tree, schedule.stepping_in(), &plain(&args.lock)))
}

fn watch_over(tree: &Tree, schedule: Schedule, lock: &str) -> Left {
    let mut words = Words::default();
    let mut end = None;
    let mut termed = false;
    loop {
        let now = since_boot();
        let due = end.map(|end| schedule.due(now, end));
        let until = match due {
            None => now + NAP,
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
                say(&format!("tenure: {lock} is at its end: what is left of the command is killed"));
                tree.kill();
                return Left::Done;
            }
        };
        match words.next(until.saturating_sub(now).min(NAP)) {
            Heard::Nothing => {}
            Heard::End => {
                say(&format!("tenure was killed: so is the command that it ran under {lock}"));
                return if tree.kill() { Left::Orphaned } else { Left::Done };
            }
            Heard::Words(words) => {
                for word in words {
                    match word {
                        Word::Until(at) => {
                            end = Some(at);
                            termed = termed && !matches!(schedule.due(since_boot(), at), Action::Wait(_));
                        }
                        Word::Termed => termed = true,
                        Word::Done => return Left::Done,
                    }
                }
            }
        }
    }
}

/// Reads the lines of the standard input.
#[derive(Debug, Default)]
struct Words {
    rest: Vec<u8>,
}

enum Heard {
    Nothing,
    Words(Vec<Word>),
    End,
}

impl Words {
    fn next(&mut self, timeout: Duration) -> Heard {
        let input = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&input, PollFlags::IN)];
        let nanos = i64::from(timeout.subsec_nanos());
        let timeout = Timespec { tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(0), tv_nsec: nanos };
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Heard::Nothing,
            Ok(_) => {}
            Err(_) => return Heard::End,
        }
        let mut buffer = [0; 4096];
        match rustix::io::read(input, &mut buffer) {
            Ok(0) => Heard::End,
            Ok(count) => Heard::Words(self.take(&buffer[..count])),
            Err(Errno::INTR) => Heard::Nothing,
            Err(_) => Heard::End,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Word> {
        self.rest.extend_from_slice(bytes);
        let Some(last) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let lines: Vec<u8> = self.rest.drain(..=last).collect();
        String::from_utf8_lossy(&lines).lines().filter_map(word).collect()
    }
}

fn word(line: &str) -> Option<Word> {
    match line.split_once(' ') {
        Some(("until", nanos)) => nanos.parse().ok().map(|nanos| Word::Until(Duration::from_nanos(nanos))),
        None if line == "termed" => Some(Word::Termed),
        None if line == "done" => Some(Word::Done),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_arrive_in_pieces() {
        let mut words = Words::default();
        assert_eq!(words.take(b"until 12"), []);
        assert_eq!(words.take(b"34\ntermed\nnonsense\ndo"), [Word::Until(Duration::from_nanos(1234)), Word::Termed]);
        assert_eq!(words.take(b"ne\n"), [Word::Done]);
    }
}
