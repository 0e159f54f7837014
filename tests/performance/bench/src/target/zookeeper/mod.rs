//! ZooKeeper, standalone, with its default settings: it syncs its log to disk before it answers.
//!
//! The client is a minimal implementation on the bench's own threads: requests that accumulate during a write are sent
//! together, and answers are matched by order. The clients in the registry bring another runtime with threads of its
//! own.

mod connection;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use tenure_harness::{Served, find};

pub use self::connection::Connection;
use crate::cpu::Processes;
use crate::target::{CONNECTIONS, peer_file};

/// The folder of classes in Debian's packages, and what the server needs of it. Its own archive is the last one, because
/// that adds the installed ones, in whatever version.
const CLASSES: &str = "/usr/share/java";
const JARS: [&str; 13] = [
    "commons-cli",
    "commons-io",
    "findbugs-annotations",
    "metrics-core",
    "netty-buffer",
    "netty-common",
    "netty-handler",
    "netty-transport",
    "netty-transport-native-epoll",
    "slf4j-api",
    "snappy-java",
    "zookeeper-jute",
    "zookeeper",
];
const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// The Java heap size of Debian's start script, in MB.
const HEAP: u32 = 1000;

/// How long a ready server may take to open and close a session.
const OPENING: Duration = Duration::from_secs(1);

/// One server.
#[derive(Debug)]
pub struct ZooKeeper(Served);

impl ZooKeeper {
    /// Starts one on fresh data.
    pub async fn start() -> anyhow::Result<Self> {
        let command = |folder: &Path, port: u16| {
            let data = folder.join("data");
            fs::create_dir(&data).context("making ZooKeeper's data folder")?;
            let config = folder.join("zoo.cfg");
            let text = format!(
                "tickTime=2000\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n",
                data.display()
            );
            fs::write(&config, text).context("writing zoo.cfg")?;
            let mut command = Command::new(find("java", "default-jre-headless")?);
            let jars = JARS.map(|name| jar(name).display().to_string()).join(":");
            command.args([&format!("-Xmx{HEAP}m"), "-cp", &jars, MAIN]).arg(config);
            Ok(command)
        };
        Ok(Self(Served::start("ZooKeeper", command, opens_sessions).await?))
    }

    /// The processes whose processor time counts.
    pub fn processes(&self) -> Processes {
        Processes { server: self.0.process_id().into_iter().collect(), database: Vec::new() }
    }

    /// Opens the connections that all clients share, each a session.
    pub async fn connections(&self) -> anyhow::Result<Vec<Connection>> {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(Connection::open(self.0.port()).await?);
        }
        Ok(connections)
    }
}

fn jar(name: &str) -> PathBuf {
    peer_file(&Path::new(CLASSES).join(name).with_extension("jar"))
}

/// The version, as its archive is named: `zookeeper-3.9.6`.
pub fn version() -> Option<String> {
    let archive = fs::canonicalize(jar("zookeeper")).ok()?;
    Some(archive.file_stem()?.to_string_lossy().into_owned())
}

/// The server listens before it is ready, and may then leave connections without an answer.
async fn opens_sessions(port: u16) -> bool {
    let session = async { Connection::open(port).await?.close().await };
    matches!(tokio::time::timeout(OPENING, session).await, Ok(Ok(())))
}
