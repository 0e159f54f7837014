//! A throw-away etcd.

use std::process::Command;

use tokio::net::TcpStream;

use crate::{Served, port};

impl Served {
    /// Starts etcd's `program` on fresh data, with its default settings: commits are durable.
    ///
    /// # Errors
    /// If it does not start; with the end of its log.
    pub async fn start_etcd(program: Command) -> anyhow::Result<Self> {
        let peers = format!("http://127.0.0.1:{}", port::free()?);
        let command = |folder: &std::path::Path, port: u16| {
            let clients = format!("http://127.0.0.1:{port}");
            let mut command = program;
            command.args(["--name", "one", "--data-dir"]).arg(folder.join("data"));
            command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
            command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
            command.args(["--initial-cluster", &format!("one={peers}")]);
            Ok(command)
        };
        Self::start("etcd", command, async |port| TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await
    }
}
