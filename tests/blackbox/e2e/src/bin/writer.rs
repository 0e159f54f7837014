//! A program that increments a counter in its own database, under a lock. It executes each step on a line of standard
//! input, and reports the result on standard output, so that a test can pause it between any two steps.
//!
//! `writer ENDPOINTS LOCK TTL_MS DATABASE_URL fenced|unfenced`, then lines of:
//! - `acquire`: waits for the lock. `holds TOKEN`
//! - `read`: reads the counter in a transaction. `read VALUE`
//! - `write`: in another transaction, writes the value last read plus one. `wrote VALUE`
//! - `begin`: reads and writes in a transaction that stays open. `wrote VALUE`
//! - `commit`: commits that transaction. `committed`
//! - `release`: releases the lock, if it is still held. `released`
//!
//! If the fence rejects it, it prints `refused TOKEN HIGHEST`. Exits at the end of its standard input, so that it never
//! outlives a test.

use std::time::Duration;

use anyhow::{Context, bail};
use sqlx::mysql::MySqlPool;
use sqlx::postgres::PgPool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use sqlx::{ColumnIndex, Decode, Executor, Pool, Row, Transaction, Type};
use tenure_client::{Client, Error, Guard};
use tenure_fence::{FenceDatabase, FenceError, check};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// How long it waits for other writers to the same file.
const BUSY: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoints, lock, ttl, url, fencing] = &arguments[..] else { bail!("not five arguments") };
    let settings = Settings {
        client: Client::connect(endpoints.as_str()).context("connecting")?,
        lock: lock.clone(),
        ttl: Duration::from_millis(ttl.parse()?),
        is_fenced: fencing == "fenced",
    };
    match url.split(':').next() {
        Some("postgres") => serve(settings, PgPool::connect(url).await?, "BEGIN").await,
        Some("mysql") => serve(settings, MySqlPool::connect(url).await?, "START TRANSACTION").await,
        _ => {
            let options = url.parse::<SqliteConnectOptions>()?.busy_timeout(BUSY);
            serve(settings, SqlitePool::connect_with(options).await?, "BEGIN IMMEDIATE").await
        }
    }
}

/// The state that does not depend on the kind of database.
struct Settings {
    client: Client,
    lock: String,
    ttl: Duration,
    is_fenced: bool,
}

impl Settings {
    /// With a TTL as short as a test's, the session may expire on a busy machine before the lock is granted.
    async fn acquire(&self) -> tenure_client::Result<Guard> {
        loop {
            match self.client.lock(&self.lock).ttl(self.ttl).acquire().await {
                Err(Error::Lost(_)) => {}
                ended => return ended,
            }
        }
    }
}

async fn serve<DB: FenceDatabase>(settings: Settings, pool: Pool<DB>, begin: &'static str) -> anyhow::Result<()>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    i64: for<'r> Decode<'r, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let mut worker = Worker { settings, pool, begin, guard: None, seen: 0, open: None };
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match worker.step(&line).await {
            Ok(report) => println!("{report}"),
            Err(error) => match error.downcast_ref::<FenceError>() {
                Some(FenceError::Stale { token, highest, .. }) => println!("refused {token} {highest}"),
                _ => println!("failed {error:#}"),
            },
        }
    }
    Ok(())
}

struct Worker<DB: FenceDatabase> {
    settings: Settings,
    pool: Pool<DB>,
    begin: &'static str,
    guard: Option<Guard>,
    seen: i64,
    open: Option<Transaction<'static, DB>>,
}

impl<DB: FenceDatabase> Worker<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    i64: for<'r> Decode<'r, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    async fn step(&mut self, line: &str) -> anyhow::Result<String> {
        match line {
            "acquire" => {
                let guard = self.settings.acquire().await?;
                let token = guard.token();
                self.guard = Some(guard);
                Ok(format!("holds {token}"))
            }
            "read" => {
                let mut transaction = self.begin_checked().await?;
                self.seen = read(&mut transaction).await?;
                transaction.commit().await?;
                Ok(format!("read {}", self.seen))
            }
            "write" => {
                let mut transaction = self.begin_checked().await?;
                write(&mut transaction, self.seen + 1).await?;
                transaction.commit().await?;
                Ok(format!("wrote {}", self.seen + 1))
            }
            "begin" => {
                let mut transaction = self.begin_checked().await?;
                self.seen = read(&mut transaction).await?;
                write(&mut transaction, self.seen + 1).await?;
                self.open = Some(transaction);
                Ok(format!("wrote {}", self.seen + 1))
            }
            "commit" => {
                self.open.take().context("nothing is open")?.commit().await?;
                Ok("committed".to_owned())
            }
            "release" => {
                // A failure is expected: these tests make the writer lose the lock.
                let _ = self.guard.take().context("nothing is held")?.release().await;
                Ok("released".to_owned())
            }
            other => bail!("no such step: {other}"),
        }
    }

    /// Begins a transaction, with the check first if fencing is on.
    async fn begin_checked(&self) -> anyhow::Result<Transaction<'static, DB>> {
        let mut transaction = self.pool.begin_with(self.begin).await?;
        if self.settings.is_fenced {
            let token = self.guard.as_ref().context("nothing is held")?.token();
            check(&mut transaction, &self.settings.lock, token).await?;
        }
        Ok(transaction)
    }
}

async fn read<DB: FenceDatabase>(transaction: &mut Transaction<'_, DB>) -> anyhow::Result<i64>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    i64: for<'r> Decode<'r, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    Ok((&mut **transaction).fetch_one("SELECT value FROM counter").await?.try_get(0)?)
}

async fn write<DB: FenceDatabase>(transaction: &mut Transaction<'_, DB>, value: i64) -> anyhow::Result<()>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    (&mut **transaction).execute(format!("UPDATE counter SET value = {value}").as_str()).await?;
    Ok(())
}
