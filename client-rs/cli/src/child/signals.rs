//! The signals that `tenure` passes on to CMD.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// The signals passed on to CMD. SIGTSTP is Ctrl-Z, SIGWINCH the terminal's new size.
const PASSED_ON: [Signal; 9] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::TSTP,
    Signal::CONT,
    Signal::WINCH,
];

/// Catches the signals sent to `tenure`, in place of their default actions.
#[derive(Debug)]
pub struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
    termination: Option<Signal>,
}

impl Signals {
    /// Catches the signals. Signals that were ignored when `tenure` started (as under `nohup`) stay ignored.
    ///
    /// # Errors
    /// The system rejects it.
    pub fn catch() -> io::Result<Self> {
        let ignored = ignored();
        let streams = PASSED_ON
            .into_iter()
            .filter(|signal| ignored & (1 << (signal.as_raw() - 1)) == 0)
            .map(|signal| Ok((signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?)))
            .collect::<io::Result<_>>()?;
        Ok(Self { streams, termination: None })
    }

    /// The next signal. Cancel safe: dropping this call loses no signal.
    pub async fn next(&mut self) -> Signal {
        let signal = poll_fn(|context| {
            let received =
                |(signal, stream): &mut (Signal, unix::Signal)| stream.poll_recv(context).is_ready().then_some(*signal);
            self.streams.iter_mut().find_map(received).map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        if matches!(signal, Signal::INT | Signal::QUIT | Signal::TERM) {
            self.termination = Some(signal);
        }
        signal
    }

    /// The last signal so far that requested this process to end, including those passed on.
    pub fn termination(&self) -> Option<Signal> {
        self.termination
    }

    /// The next signal that requests this process to end.
    pub async fn next_termination(&mut self) -> Signal {
        loop {
            match self.next().await {
                signal @ (Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM) => return signal,
                Signal::TSTP => super::terminal::stop_own_job(),
                _ => {}
            }
        }
    }
}

/// The signals that were ignored when this process started, as a bit mask. The standard library does not expose them;
/// Linux does.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
