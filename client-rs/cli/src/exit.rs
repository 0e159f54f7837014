//! The exit codes of `tenure`, and failures with a message and advice.

use std::fmt;

/// The command succeeded.
pub const OK: u8 = 0;
/// Another session holds the lock, and does not hand it over in time; there are deadlocks; a config is not the expected
/// one; a check of `doctor` failed. `flock` uses this code, too.
pub const CONFLICT: u8 = 1;
/// The arguments are invalid, or out of the bounds of the service.
pub const USAGE: u8 = 2;
/// No endpoint was reachable and able to serve the call.
pub const UNAVAILABLE: u8 = 69;
/// The service rejected the call, or an internal error occurred.
pub const REFUSED: u8 = 70;
/// The hold was lost or handed over while CMD ran, and CMD was stopped.
pub const HOLD_LOST: u8 = 75;
/// CMD was found, but could not be run.
pub const CANNOT_RUN: u8 = 126;
/// CMD was not found.
pub const NOT_FOUND: u8 = 127;

/// All exit codes of `tenure` itself, each with its name for programs, and when it is returned.
pub const ALL: [(u8, &str, &str); 8] = [
    (OK, "ok", "done"),
    (
        CONFLICT,
        "conflict",
        "lock, acquire: another session holds the lock (see --conflict-exit-code); \
            transfer: the holder did not stop in time and keeps the lock; group set, clear: the config is not the expected one; \
            blocked --deadlocks: there are deadlocks; doctor: a check failed",
    ),
    (USAGE, "usage", "the arguments are invalid, or out of the bounds of the service"),
    (UNAVAILABLE, "unavailable", "no server was reachable and able to serve the call: retry later"),
    (REFUSED, "refused", "the service rejected the call, or an internal error occurred"),
    (HOLD_LOST, "hold-lost", "lock, elect --once: the hold was lost or handed over, and CMD stopped"),
    (CANNOT_RUN, "cannot-run", "lock, elect: CMD was found, but could not be run"),
    (NOT_FOUND, "not-found", "lock, elect: CMD was not found"),
];

/// The exit codes that come from CMD.
pub const OF_CMD: &str = "lock and elect otherwise exit with the code of CMD, or 128+n if signal n ended it.";

/// The exit codes as a help text.
pub fn help() -> String {
    // One line per case.
    let lines = ALL.map(|(code, _, meaning)| format!("  {code:>3}  {}", meaning.replace("; ", ";\n       ")));
    format!("Exit codes:\n{}\n\n{OF_CMD}", lines.join("\n"))
}

/// The exit code of a process that signal `number` ended.
pub fn of_signal(number: i32) -> u8 {
    u8::try_from(128 + number).unwrap_or(u8::MAX)
}

/// The reason for which `tenure` failed, and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The name of the service's error reason, if the service rejected the call; for `--output json`.
    pub reason: Option<String>,
    /// The error, in one sentence.
    pub message: String,
    /// The advice, if there is any.
    pub next: Option<String>,
}

impl Failure {
    /// A failure with an exit code and a sentence.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, reason: None, message: message.into(), next: None }
    }

    /// Sets the advice.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Whether the reader of the output closed it (`tenure ls | head`), which is not reported.
    pub fn is_closed_pipe(&self) -> bool {
        self.code == OK
    }
}

/// Converts an error of clap. Its first paragraph is the message.
impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        let what: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
        let message = what.join(" ");
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        Self::new(USAGE, message).next("see tenure help")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(OK, "output closed"),
            _ => Self::new(REFUSED, format!("cannot write the output: {error}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenure: {}", self.message)?;
        match &self.next {
            Some(next) => write!(f, "\n  next: {next}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_map_as_in_a_shell() {
        assert_eq!(of_signal(2), 130);
        assert_eq!(of_signal(9), 137);
        assert_eq!(of_signal(15), 143);
        assert_eq!(of_signal(200), u8::MAX);
    }

    #[test]
    fn failure_suggests_the_next_step() {
        let failure = Failure::new(UNAVAILABLE, "no server").next("start tenured");
        assert_eq!(failure.to_string(), "tenure: no server\n  next: start tenured");
    }

    #[test]
    fn closed_pipe_is_no_failure() {
        let closed = Failure::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(closed.is_closed_pipe());
        assert!(!Failure::from(std::io::Error::other("disk full")).is_closed_pipe());
    }
}
