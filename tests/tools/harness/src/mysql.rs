//! A throw-away MySQL.

use std::process::Command;

use tokio::sync::OnceCell;

use crate::mysql_server::{Client, Flavour, MySqlServer};
use crate::unpacked::Unpacked;

/// Its programs.
pub(crate) const UNPACKED: Unpacked = Unpacked("mysql-9.7");

/// A MySQL with default settings (so commits are durable), on 127.0.0.1, whose `root` needs no password.
pub type MySql = MySqlServer<MySqlPrograms>;

/// MySQL's programs, as unpacked by `cargo xtask test --only packages`.
#[derive(Debug)]
pub struct MySqlPrograms;

impl Flavour for MySqlPrograms {
    const NAME: &'static str = "MySQL";
    // Its programs are in this tree, which other users may not be allowed to read.
    const USER: Option<&'static str> = None;

    fn shared() -> &'static OnceCell<MySql> {
        static SHARED: OnceCell<MySql> = OnceCell::const_new();
        &SHARED
    }

    fn server(common: &[String]) -> anyhow::Result<Command> {
        let mut server = UNPACKED.command("mysqld")?;
        server.args(common);
        for (option, place) in [
            ("lc-messages-dir", "share/mysql"),
            ("character-sets-dir", "share/mysql/charsets"),
            ("plugin-dir", "lib/mysql/plugin"),
        ] {
            server.arg(format!("--{option}={}", UNPACKED.path("usr").join(place).display()));
        }
        // The X protocol has a port of its own; the default of the other is a folder that only an installation makes.
        server.args(["--mysqlx=OFF", "--secure-file-priv=NULL"]);
        if rustix::process::geteuid().is_root() {
            // It does not run as root unless that is said.
            server.arg("--user=root");
        }
        Ok(server)
    }

    fn client(client: Client) -> anyhow::Result<Command> {
        let (name, options): (_, &[&str]) = match client {
            Client::Statements => ("mysql", &[]),
            // A server that gets its own dump back has these transactions.
            Client::Dump => ("mysqldump", &["--set-gtid-purged=OFF"]),
        };
        let mut client = UNPACKED.command(name)?;
        client.arg("--no-defaults").args(options);
        Ok(client)
    }

    fn initializer(common: &[String], settings: &[String]) -> anyhow::Result<Command> {
        let mut server = Self::server(common)?;
        // Some settings cannot be changed later, such as lower_case_table_names.
        server.arg("--initialize-insecure").args(settings);
        Ok(server)
    }
}
