//! `tenure-database-version ENGINE` starts a throw-away database, and prints its version as the database reports it.

use std::env;

use anyhow::{Context, bail};
use sqlx::{Connection, MySqlConnection};
use tenure_harness::{Flavour, MariaDbPrograms, MySqlPrograms, MySqlServer, Postgres};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let engine = env::args().nth(1).context("usage: tenure-database-version postgres|mariadb|mysql")?;
    let version: String = match engine.as_str() {
        "postgres" => Postgres::start().await?.ask("SHOW server_version").await?,
        "mariadb" => version::<MariaDbPrograms>().await?,
        "mysql" => version::<MySqlPrograms>().await?,
        other => bail!("there is no engine {other}"),
    };
    println!("{version}");
    Ok(())
}

async fn version<F: Flavour>() -> anyhow::Result<String> {
    let server = MySqlServer::<F>::start().await?;
    let mut connection = MySqlConnection::connect(&server.url("mysql")).await?;
    Ok(sqlx::query_scalar("SELECT VERSION()").fetch_one(&mut connection).await?)
}
