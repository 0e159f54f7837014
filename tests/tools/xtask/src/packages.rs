//! The databases and peers that the tests and the bench start, their command lines, and the tools of the other
//! languages.

pub mod postgres;
pub mod unstable;

use std::fs;

use anyhow::{Context, bail};

use crate::programs::{find, program};

/// A Debian package and a file, usually a program, that it installs.
const NEEDED: [(&str, &str); 33] = [
    ("postgresql", "postgres"),
    ("postgresql", "initdb"),
    ("mariadb-server", "mariadbd"),
    ("mariadb-server", "mariadb-install-db"),
    ("pgbouncer", "pgbouncer"),
    ("sqlite3", "sqlite3"),
    ("e2fsprogs", "mkfs.ext4"),
    ("mount", "mount"),
    ("haproxy", "haproxy"),
    ("systemd", "systemd-analyze"),
    ("nftables", "nft"),
    ("faketime", "faketime"),
    ("etcd-server", "etcd"),
    ("patroni", "patroni"),
    ("redis-server", "redis-server"),
    ("zookeeper", "/usr/share/java/zookeeper.jar"),
    ("prometheus", "promtool"),
    ("openssl", "openssl"),
    ("gcc", "cc"),
    ("g++", "g++"),
    ("make", "make"),
    ("pkg-config", "pkg-config"),
    ("protobuf-compiler", "protoc"),
    ("protobuf-compiler-grpc", "grpc_cpp_plugin"),
    ("libprotobuf-dev", "/usr/include/google/protobuf/message.h"),
    ("libgrpc++-dev", "/usr/include/grpcpp/grpcpp.h"),
    ("golang-go", "go"),
    ("python3-venv", "python3"),
    ("nodejs", "node"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("default-jdk-headless", "javac"),
    ("maven", "mvn"),
];

/// Installs without starting the packages' services, since tests start their own. An existing policy of the machine is
/// kept.
const INSTALL: &str = r#"
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "$@"
"#;

/// Installs missing packages, where that is possible, and unpacks those that are not to be installed.
pub fn provide() -> anyhow::Result<()> {
    install()?;
    unstable::MYSQL.provide()
}

fn install() -> anyhow::Result<()> {
    let missing = missing();
    if missing.is_empty() {
        println!("all packages are installed");
        return Ok(());
    }
    let list = missing.join(" ");
    let Some(become_root) = root_prefix().filter(|_| find("apt-get").is_some()) else {
        bail!("not installed, and not installable from here without a password: {list}. Please install it");
    };
    println!("installing {list}");
    let mut command = match become_root {
        [] => program("sh"),
        [first, rest @ ..] => {
            let mut command = program(first);
            command.args(rest).args(["sh"]);
            command
        }
    };
    command.args(["-c", INSTALL, "install"]).args(&missing).run()?;
    match self::missing().as_slice() {
        [] => Ok(()),
        still => bail!("installed, but not found: {}", still.join(" ")),
    }
}

fn missing() -> Vec<&'static str> {
    let mut packages: Vec<&str> = NEEDED.iter().filter(|(_, name)| find(name).is_none()).map(|(of, _)| *of).collect();
    packages.dedup();
    packages
}

/// The prefix of commands to run as root: None if that would require a password.
fn root_prefix() -> Option<&'static [&'static str]> {
    if is_root().unwrap_or(false) {
        return Some(&[]);
    }
    find("sudo")?;
    program("sudo").args(["-n", "true"]).run().ok().map(|()| ["sudo", "-n"].as_slice())
}

fn is_root() -> anyhow::Result<bool> {
    let status = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).context("no Uid in /proc/self/status")?;
    Ok(ids.split_whitespace().nth(1) == Some("0"))
}
