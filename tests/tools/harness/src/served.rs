//! Other programs that serve on a port.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::folder::Folder;
use crate::port;
use crate::process::{Process, runs_as_process};

/// A program on a free port of 127.0.0.1, with a folder of its own.
#[derive(Debug)]
pub struct Served {
    process: Process,
    port: u16,
}

runs_as_process!(Served);

impl Served {
    /// Starts the command that `command` creates from the folder and the port, and waits until it is `ready`. SIGTERM
    /// ends it.
    ///
    /// # Errors
    /// If there is no command or it does not become ready; with the end of its log.
    pub async fn start(
        name: &'static str,
        command: impl FnOnce(&Path, u16) -> anyhow::Result<Command>,
        ready: impl AsyncFn(u16) -> bool,
    ) -> anyhow::Result<Self> {
        let folder = Folder::create(None, Signal::TERM)?;
        let port = port::free()?;
        let command = command(folder.path(), port)?;
        let mut process = Process::new(name, command, folder, None, Signal::TERM);
        process.start(async || ready(port).await).await?;
        Ok(Self { process, port })
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Restarts it on the same port, and waits until it is ready.
    ///
    /// # Errors
    /// If it is running already or does not become ready; with the end of its log.
    pub async fn start_again(&mut self, ready: impl AsyncFn(u16) -> bool) -> anyhow::Result<()> {
        let port = self.port;
        self.process.start(async || ready(port).await).await
    }
}
