//! A real `tenured` process.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::environment::settings;
use crate::folder::Folder;
use crate::process::{Process, runs_as_process};
use crate::{port, program};

/// The limit of an answer of the admin port. A frozen server accepts connections, and never answers.
const ANSWER: Duration = Duration::from_secs(10);

/// Options of a [`Tenured`].
#[derive(Clone, Debug, Default)]
pub struct TenuredOptions {
    /// The store. Default: SQLite in its own folder.
    pub store_url: Option<String>,
    /// Additional arguments.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
    /// The program, resolved at each start. Default: see [`built`](crate::built).
    pub program: Option<PathBuf>,
}

impl TenuredOptions {
    /// Options with this store.
    #[must_use]
    pub fn store(url: impl Into<String>) -> Self {
        Self { store_url: Some(url.into()), ..Self::default() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// A `tenured` on free ports of 127.0.0.1, with a data directory of its own.
#[derive(Debug)]
pub struct Tenured {
    process: Process,
    port: u16,
    admin_port: u16,
}

runs_as_process!(Tenured);

impl Tenured {
    /// Starts one, and waits until it is ready.
    ///
    /// # Errors
    /// If it is not built or does not become ready; with the end of its log.
    pub async fn start(options: &TenuredOptions) -> anyhow::Result<Self> {
        let mut tenured = Self::prepare(options)?;
        tenured.start_again().await?;
        Ok(tenured)
    }

    /// Prepares one without starting it.
    ///
    /// # Errors
    /// If it is not built.
    pub fn prepare(options: &TenuredOptions) -> anyhow::Result<Self> {
        let folder = Folder::create(None, Signal::TERM)?;
        let (port, admin_port) = (port::free()?, port::free()?);
        let program = options.program.clone().map_or_else(|| program::built("tenured"), Ok)?;
        let mut command = Command::new(program);
        for name in settings() {
            command.env_remove(name);
        }
        command.arg("--data-dir").arg(folder.path().join("data"));
        command.args(["--listen", &format!("127.0.0.1:{port}"), "--admin-listen", &format!("127.0.0.1:{admin_port}")]);
        if let Some(url) = &options.store_url {
            command.args(["--store-url", url]);
        }
        command.args(&options.arguments).envs(options.environment.iter().cloned());
        let process = Process::new("tenured", command, folder, None, Signal::TERM);
        Ok(Self { process, port, admin_port })
    }

    /// The port of 127.0.0.1 for clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of 127.0.0.1 for operators.
    #[must_use]
    pub fn admin_port(&self) -> u16 {
        self.admin_port
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The HTTP status of a page of the admin port, such as `/readyz`: None if it does not answer.
    pub async fn status(&self, path: &str) -> Option<u16> {
        status(self.admin_port, path).await
    }

    /// A page of the admin port as text of this media type, if it answers with one.
    pub async fn page(&self, path: &str, accept: &str) -> Option<String> {
        let answer = ask(self.admin_port, path, accept).await?;
        let (head, page) = answer.split_once("\r\n\r\n")?;
        head.contains(" 200 ").then(|| page.to_owned())
    }

    /// The body of `/readyz`, ready or not: None if it does not answer.
    pub async fn readiness(&self) -> Option<String> {
        let answer = ask(self.admin_port, "/readyz", "*/*").await?;
        answer.split_once("\r\n\r\n").map(|(_, page)| page.to_owned())
    }

    /// Restarts it on the same ports with the same data directory, and waits until it is ready.
    ///
    /// # Errors
    /// If it is running already or does not become ready; with the end of its log.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let port = self.admin_port;
        self.process.start(async || status(port, "/readyz").await == Some(200)).await
    }

    /// Starts it, and waits only until its admin port answers.
    ///
    /// # Errors
    /// If it is running already or ends instead; with the end of its log.
    pub async fn start_unready(&mut self) -> anyhow::Result<()> {
        let port = self.admin_port;
        self.process.start(async || status(port, "/livez").await == Some(200)).await
    }

    /// Starts its drain, without waiting.
    ///
    /// # Errors
    /// If it is not running.
    pub fn terminate(&self) -> anyhow::Result<()> {
        self.process.signal(Signal::TERM)
    }
}

/// Sends a minimal HTTP request, of which only the status is needed.
pub(crate) async fn status(port: u16, path: &str) -> Option<u16> {
    ask(port, path, "*/*").await?.split_whitespace().nth(1)?.parse().ok()
}

/// The whole answer.
async fn ask(port: u16, path: &str, accept: &str) -> Option<String> {
    timeout(ANSWER, answer(port, path, accept)).await.ok()?
}

async fn answer(port: u16, path: &str, accept: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}
