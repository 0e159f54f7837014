//! `tenure-databases COMMAND [ARGUMENT]...` runs a command with throw-away databases, and exits with its status:
//! `TEST_POSTGRES_URL` and `TEST_MYSQL_URL` are their URLs. It is for tests that are not written in Rust.

use std::env;
use std::process::ExitCode;

use anyhow::Context;
use tenure_harness::{MariaDb, Postgres};
use tokio::process::Command;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let mut words = env::args_os().skip(1);
    let program = words.next().context("usage: tenure-databases COMMAND [ARGUMENT]...")?;
    let (postgres, mariadb) = tokio::try_join!(Postgres::start(), MariaDb::start())?;
    let status = Command::new(&program)
        .args(words)
        .env("TEST_POSTGRES_URL", postgres.create_database().await?)
        .env("TEST_MYSQL_URL", mariadb.create_database().await?)
        .status()
        .await
        .with_context(|| format!("running {}", program.display()))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
