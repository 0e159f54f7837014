//! The actions that processes of a test report, with times on a shared clock.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::time::{ClockId, clock_gettime};

/// The machine's monotonic clock, the same for every process on it.
#[must_use]
pub fn clock() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// Reports an action of this process on standard output.
pub fn report(what: &str, detail: &str) {
    println!("{} {what} {detail}", clock().as_nanos());
}

/// An action of a process.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The time, on [`clock`].
    pub at: Duration,
    /// The process id.
    pub process: u32,
    /// The action.
    pub action: Action,
}

/// An action of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It has been granted the lock.
    Leads {
        /// Its fencing token.
        token: u64,
        /// Its session.
        session: String,
    },
    /// It works, under this token.
    Works {
        /// Its fencing token.
        token: u64,
    },
    /// A renewal of its session was answered.
    Renewed,
    /// It has lost the lock, and why.
    Lost(String),
    /// Its campaign failed, and why.
    Failed(String),
}

impl Entry {
    /// Parses a line printed by process `process`.
    pub(crate) fn parse(process: u32, line: &str) -> anyhow::Result<Self> {
        let mut words = line.splitn(3, ' ');
        let (at, what, detail) = (words.next(), words.next(), words.next().unwrap_or_default());
        let at = Duration::from_nanos(at.context("no time")?.parse()?);
        let action = match what {
            Some("leads") => {
                let (token, session) = detail.split_once(' ').context("no session")?;
                Action::Leads { token: token.parse()?, session: session.to_owned() }
            }
            Some("works") => Action::Works { token: detail.parse()? },
            Some("renewed") => Action::Renewed,
            Some("lost") => Action::Lost(detail.to_owned()),
            Some("failed") => Action::Failed(detail.to_owned()),
            _ => bail!("not an action of a candidate: {line}"),
        };
        Ok(Self { at, process, action })
    }

    /// The token under which it works or leads.
    #[must_use]
    pub fn token(&self) -> Option<u64> {
        match self.action {
            Action::Leads { token, .. } | Action::Works { token } => Some(token),
            Action::Renewed | Action::Lost(_) | Action::Failed(_) => None,
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} s: {} {:?}", self.at.as_secs_f64(), self.process, self.action)
    }
}
