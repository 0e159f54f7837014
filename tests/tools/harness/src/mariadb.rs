//! A throw-away MariaDB.

use std::fs;
use std::process::Command;

use anyhow::Context;
use tokio::sync::OnceCell;

use crate::mysql_server::{Client, Flavour, MySqlServer};
use crate::program;

/// MariaDB's settings.
const SETTINGS: [&str; 2] = ["--skip-name-resolve", "--innodb-log-file-size=16M"];

/// A MariaDB with default settings (so commits are durable), on 127.0.0.1, whose `root` needs no password.
pub type MariaDb = MySqlServer<MariaDbPrograms>;

/// MariaDB's programs, as installed, or as an earlier folder of `PATH` has them.
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
        command("mariadbd", common)
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
        let mut install = command("mariadb-install-db", common)?;
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        Ok(install)
    }
}

/// A program with the settings. The other files of its installation are beside its folder, wherever that is.
fn command(name: &str, common: &[String]) -> anyhow::Result<Command> {
    let program = fs::canonicalize(program::find(name, "mariadb-server")?)?;
    let installation = program.ancestors().nth(2).context("a program in a folder of programs")?;
    let mut command = Command::new(&program);
    command.args(common).args(SETTINGS).arg(format!("--basedir={}", installation.display()));
    Ok(command)
}
