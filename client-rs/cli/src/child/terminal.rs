//! Job control: CMD has a process group of its own, which must become the foreground group when CMD asks for input, and
//! yield to `tenure`'s group afterwards.

use std::fs::File;

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_current_process_group, waitid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::process::Tree;
use crate::output::say;

/// The controlling terminal of this process.
#[derive(Debug)]
pub struct Terminal {
    tty: File,
    /// Whether CMD was made the foreground group.
    lent: bool,
}

impl Terminal {
    /// Opens the controlling terminal, if there is one.
    pub fn open() -> Option<Self> {
        Some(Self { tty: File::options().read(true).write(true).open("/dev/tty").ok()?, lent: false })
    }

    /// Handles a stop of CMD: makes CMD the foreground group if it stopped for terminal access and this process is in
    /// the foreground; otherwise stops this whole job with it, as the user's shell expects, and continues CMD when the
    /// job continues. `notice` is printed before a stop.
    pub fn on_stop(&mut self, tree: &Tree, notice: impl FnOnce() -> String) {
        match stopped_by(tree.group) {
            Some(Signal::TTIN | Signal::TTOU) if self.is_foreground() => {}
            Some(Signal::TTIN | Signal::TTOU | Signal::TSTP) => {
                self.take_back();
                say(&notice());
                stop_own_job();
            }
            // CMD alone was stopped on purpose, and not this process.
            _ => return,
        }
        // After a stop, the shell may have continued this job in the background: CMD continues without the terminal.
        if self.is_foreground() {
            self.set_foreground(tree.group);
            self.lent = true;
        }
        tree.signal_group(Signal::CONT);
    }

    /// Makes this process the foreground group again.
    pub fn take_back(&mut self) {
        if std::mem::take(&mut self.lent) {
            self.set_foreground(getpgrp());
        }
    }

    fn is_foreground(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|group| group == getpgrp())
    }

    fn set_foreground(&self, group: Pid) {
        // The system sends SIGTTOU to a background process that makes this call, unless the signal is blocked.
        let set = SigSet::from(NixSignal::SIGTTOU);
        if set.thread_block().is_ok() {
            let _ = tcsetpgrp(&self.tty, group);
            let _ = set.thread_unblock();
        }
    }
}

/// Stops this process and the rest of its job, until the shell continues them.
pub fn stop_own_job() {
    let _ = kill_current_process_group(Signal::STOP);
}

/// The signal that stopped CMD, reported once per stop.
fn stopped_by(group: Pid) -> Option<Signal> {
    let status = waitid(WaitId::Pid(group), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG).ok()??;
    status.stopping_signal().and_then(Signal::from_named_raw)
}
