//! `tenure` at a terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tenure_harness::wait_until;
use tokio::process::Child;
use tokio::time::timeout;

use super::{PATIENCE, tenure};

/// A terminal with a program attached.
pub struct Terminal {
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Terminal {
    /// Starts `tenure` at a terminal of this width, with these additional environment variables.
    pub fn start(url: &str, width: u16, environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal: OwnedFd = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let again = || Stdio::from(terminal.try_clone().unwrap());
        let mut command = tenure(url, arguments);
        command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("COLUMNS").envs(environment.iter().copied());
        let child = command.stdin(again()).stdout(again()).stderr(again()).spawn().unwrap();
        // The test process must not keep the terminal open.
        drop((command, terminal));
        let shown = Arc::new(Mutex::new(Vec::new()));
        let reader = std::thread::spawn({
            let shown = shown.clone();
            move || {
                let mut controller = File::from(controller);
                let mut part = [0; 4096];
                // Reading fails once no process has the terminal open.
                while let Ok(count @ 1..) = controller.read(&mut part) {
                    shown.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&part[..count]);
                }
            }
        });
        Self { child, shown, reader }
    }

    /// Returns all output so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits until the terminal shows `text`.
    pub async fn shows(&self, text: &str) {
        wait_until(PATIENCE, &format!("{text:?} is shown"), async || self.shown().contains(text)).await;
    }

    /// Waits for the program to exit. Returns the exit code and all output.
    pub async fn end(mut self) -> (Option<i32>, String) {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it hangs").unwrap();
        let Self { reader, shown, .. } = self;
        timeout(Duration::from_secs(5), tokio::task::spawn_blocking(move || reader.join().unwrap()))
            .await
            .unwrap()
            .unwrap();
        let shown = String::from_utf8_lossy(&shown.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
        (status.code(), shown)
    }

    pub fn child(&self) -> &Child {
        &self.child
    }
}
