//! Job control: CMD has a process group of its own, which must become the foreground group when CMD asks for input, and
//! yield to `tenure`'s group afterwards.

use std::fs::File;

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_current_process_group, waitid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::process::Tree;
use crate::output::say;

/// The controlling terminal of this process, if there is one.
#[derive(Debug)]
pub struct Terminal {
    tty: Option<File>,
    lent: bool,
}

impl Terminal {
    /// Opens the controlling terminal.
    pub fn open() -> Self {
        Self { tty: File::options().read(true).write(true).open("/dev/tty").ok(), lent: false }
    }

    /// Handles a stop of CMD: makes CMD the foreground group if it stopped for terminal access and this process is in
    /// the foreground; otherwise stops this whole job with it, as the user's shell expects, and continues CMD when the
    /// job continues. `notice` is printed before a stop.
    pub fn attend(&mut self, tree: &Tree, notice: impl FnOnce() -> String) {
        let Some(signal) = stopped_by(tree.group()) else { return };
        if self.tty.is_none() {
            return;
        }
        let wants_terminal = signal == Signal::TTIN || signal == Signal::TTOU;
        if wants_terminal && self.is_ours() {
            return self.lend(tree);
        }
        if !wants_terminal && signal != Signal::TSTP {
            // CMD alone was stopped on purpose, and not this process.
            return;
        }
        self.take_back();
        say(&notice());
        stop_own_job();
        // The shell has continued this job. In the background CMD goes on without the terminal.
        if self.is_ours() {
            self.lend(tree);
        } else {
            tree.signal_group(Signal::CONT);
        }
    }

    /// Makes this process the foreground group again.
    pub fn take_back(&mut self) {
        if std::mem::take(&mut self.lent) {
            self.give_to(getpgrp());
        }
    }

    fn lend(&mut self, tree: &Tree) {
        self.give_to(tree.group());
        self.lent = true;
        tree.signal_group(Signal::CONT);
    }

    /// Whether this process is in the foreground.
    fn is_ours(&self) -> bool {
        self.tty.as_ref().is_some_and(|tty| tcgetpgrp(tty).is_ok_and(|group| group == getpgrp()))
    }

    fn give_to(&self, group: Pid) {
        let Some(tty) = &self.tty else { return };
        // For a background process, the system answers this call with SIGTTOU, unless that is blocked.
        let mut set = SigSet::empty();
        set.add(NixSignal::SIGTTOU);
        if set.thread_block().is_ok() {
            let _ = tcsetpgrp(tty, group);
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
