//! A throw-away MariaDB.

use std::process::Command;

use tokio::sync::OnceCell;

use crate::mysql_server::{Client, Flavour, MySqlServer};
use crate::program;

/// MariaDB's settings.
const SETTINGS: [&str; 2] = ["--skip-name-resolve", "--innodb-log-file-size=16M"];

/// A MariaDB with default settings (so commits are durable), on 127.0.0.1, whose `root` needs no password.
pub type MariaDb = MySqlServer<MariaDbPrograms>;

/// MariaDB's programs, as installed.
#[derive(Debug)]
pub struct MariaDbPrograms;

impl Flavour for MariaDbPrograms {
    const NAME: &'static str = "MariaDB";
    const USER: Option<&'static str> = Some("mysql");

    fn shared() -> &'static OnceCell<MariaDb> {
        static SHARED: OnceCell<MariaDb> = OnceCell::const_new();
        &SHARED
    }

    fn server(common: &[String]) -> anyhow::Result<Command> {
        let mut server = Command::new(program::find("mariadbd", "mariadb-server")?);
        server.args(common).args(SETTINGS);
        Ok(server)
    }

    fn client(client: Client) -> anyhow::Result<Command> {
        let name = match client {
            Client::Statements => "mariadb",
            Client::Dump => "mariadb-dump",
        };
        let mut client = Command::new(program::find(name, "mariadb-client")?);
        client.arg("--no-defaults");
        Ok(client)
    }

    fn initializer(common: &[String], _: &[String]) -> anyhow::Result<Command> {
        let mut install = Command::new(program::find("mariadb-install-db", "mariadb-server")?);
        install.args(common).args(["--auth-root-authentication-method=normal", "--skip-test-db"]).args(SETTINGS);
        Ok(install)
    }
}
