//! Job control: CMD has a process group of its own, so the terminal must be lent to it when it asks for input, and taken back.

use std::fs::File;

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_current_process_group, waitid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::process::Tree;
use crate::output::say;

/// The terminal that controls this process, if there is one.
#[derive(Debug)]
pub struct Terminal {
    tty: Option<File>,
    lent: bool,
}

impl Terminal {
    /// Looks for the terminal.
    pub fn open() -> Self {
        Self { tty: File::options().read(true).write(true).open("/dev/tty").ok(), lent: false }
    }

    /// Answers a stop of CMD: lends it the terminal if that is what it stopped for and the terminal is ours to lend, or
    /// stops this whole job with it, as the user's shell expects, and goes on when that continues.
    /// `notice` is told before a stop.
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
            // Somebody stopped CMD on purpose, and this process not.
            return;
        }
        self.take_back();
        say(&notice());
        stop_own_job();
        // Here the shell has continued us. In the background CMD goes on without the terminal.
        if self.is_ours() {
            self.lend(tree);
        } else {
            tree.signal_group(Signal::CONT);
        }
    }

    /// Takes the terminal back from CMD.
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
        // From the background the system answers this call with SIGTTOU, unless that is blocked.
        let mut set = SigSet::empty();
        set.add(NixSignal::SIGTTOU);
        if set.thread_block().is_ok() {
            let _ = tcsetpgrp(tty, group);
            let _ = set.thread_unblock();
        }
    }
}

/// Stops this process and all others of its job, until the shell continues them.
pub fn stop_own_job() {
    let _ = kill_current_process_group(Signal::STOP);
}

/// The signal that stopped CMD, told once a stop.
fn stopped_by(group: Pid) -> Option<Signal> {
    let status = waitid(WaitId::Pid(group), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG).ok()??;
    status.stopping_signal().and_then(Signal::from_named_raw)
}
