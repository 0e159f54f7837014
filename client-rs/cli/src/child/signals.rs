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
    asked_to_end: Option<Signal>,
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
        Ok(Self { streams, asked_to_end: None })
    }

    /// The next signal. Cancel safe: dropping this call loses no signal.
    pub async fn next(&mut self) -> Signal {
        let signal = poll_fn(|context| {
            for (signal, stream) in &mut self.streams {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await;
        if matches!(signal, Signal::INT | Signal::QUIT | Signal::TERM) {
            self.asked_to_end = Some(signal);
        }
        signal
    }

    /// The last signal so far that asked this process to end, including those passed on.
    pub fn asked_to_end(&self) -> Option<Signal> {
        self.asked_to_end
    }

    /// The next signal that asks this process to end.
    pub async fn next_to_end(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            match signal {
                Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM => return signal,
                Signal::TSTP => super::terminal::stop_own_job(),
                _ => {}
            }
        }
    }
}

/// The signals that were ignored when this process started, as a bit mask. The standard library does not expose them;
/// Linux does.
fn ignored() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        })
        .unwrap_or(0)
}
