//! A throw-away MySQL Router.

use std::fs;

use anyhow::Context;
use rustix::process::Signal;
use tokio::net::TcpStream;

use crate::folder::Folder;
use crate::mysql::{MySql, UNPACKED};
use crate::port;
use crate::process::{Process, runs_as_process};

/// A MySQL Router that sends all connections to a [`MySql`].
#[derive(Debug)]
pub struct MySqlRouter {
    process: Process,
    port: u16,
}

runs_as_process!(MySqlRouter);

impl MySqlRouter {
    /// Starts one, and waits until it accepts connections.
    ///
    /// # Errors
    /// If it is not unpacked or does not start; with the end of its log.
    pub async fn start(mysql: &MySql) -> anyhow::Result<Self> {
        let folder = Folder::create(None, Signal::TERM)?;
        let port = port::free()?;
        let (here, plugins) = (folder.path().display(), UNPACKED.path("usr/lib/mysqlrouter/plugin"));
        let settings = format!(
            "[DEFAULT]\nlogging_folder=\nruntime_folder={here}\ndata_folder={here}\nplugin_folder={}\n\
             [routing:primary]\nbind_address=127.0.0.1\nbind_port={port}\ndestinations=127.0.0.1:{}\n\
             routing_strategy=first-available\nprotocol=classic\nclient_ssl_mode=DISABLED\nserver_ssl_mode=DISABLED\n",
            plugins.display(),
            mysql.port(),
        );
        let file = folder.path().join("router.conf");
        fs::write(&file, settings).context("writing router.conf")?;
        let mut command = UNPACKED.command_with("mysqlrouter", Some("usr/lib/mysql-router"))?;
        command.arg("--config").arg(&file);
        let process = Process::new("MySQL Router", command, folder, None, Signal::TERM);
        let mut router = Self { process, port };
        router.start_again().await?;
        Ok(router)
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Restarts it on the same port.
    ///
    /// # Errors
    /// If it is running already or does not start; with the end of its log.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let port = self.port;
        self.process.start(async || TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await
    }
}
