//! Pairs with the lock table that many programs have in their own database: a row for each lock, which one transaction
//! reads for update and writes to acquire, and another to release.

mod mysql;
mod postgres;

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use futures::future::try_join_all;
use sqlx::{MySqlConnection, PgConnection};

use super::name;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::pool::Pool;
use crate::target::store::{Database, Store};
use crate::work::{Candidate, Subject};

/// The maximum number of connections that the clients share.
pub const POOL: usize = 32;

/// The targets, one for each database.
pub fn candidates() -> [Candidate; 3] {
    [
        candidate::<PgConnection>(Store::Postgres),
        candidate::<MySqlConnection>(Store::MariaDb),
        candidate::<MySqlConnection>(Store::MySql),
    ]
}

fn candidate<C: LockTable>(store: Store) -> Candidate {
    Candidate::new(format!("table-{}", store.name()), async move |lab| {
        let database = store.fresh(&lab).await?;
        let url = database.url.clone().context("a database without a URL")?;
        let mut connections = vec![C::open(&url).await?];
        connections[0].create().await?;
        while connections.len() < POOL {
            connections.push(C::open(&url).await?);
        }
        Ok(Table { database, pool: Arc::new(Pool::new(connections)) })
    })
}

/// A lock table behind a connection.
trait LockTable: Sized + Send + 'static {
    /// Connects.
    fn open(url: &str) -> impl Future<Output = sqlx::Result<Self>> + Send;

    /// Creates the table.
    fn create(&mut self) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Creates the row of a lock, if it does not exist.
    fn prepare(&mut self, name: &str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Acquires the lock. Returns whether it was free.
    fn acquire(&mut self, name: &str, owner: &str) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Releases the lock. Returns whether the owner still held it.
    fn release(&mut self, name: &str, owner: &str) -> impl Future<Output = sqlx::Result<bool>> + Send;
}

struct Table<C> {
    database: Database,
    pool: Arc<Pool<C>>,
}

#[async_trait]
impl<C: LockTable> Subject for Table<C> {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let users =
            try_join_all((0..load.level).map(|client| Client::prepare(Arc::clone(&self.pool), name(load, client))))
                .await?;
        Ok(closed_loop(load, &self.database.processes(), users).await?.0)
    }
}

struct Client<C> {
    pool: Arc<Pool<C>>,
    name: String,
    owner: String,
}

impl<C: LockTable> Client<C> {
    async fn prepare(pool: Arc<Pool<C>>, name: String) -> anyhow::Result<Self> {
        pool.take().await?.prepare(&name).await?;
        Ok(Self { pool, owner: format!("owner of {name}"), name })
    }
}

impl<C: LockTable> User for Client<C> {
    async fn turn(&mut self) -> anyhow::Result<()> {
        let acquired = self.pool.take().await?.acquire(&self.name, &self.owner).await?;
        ensure!(acquired, "{} is not free", self.name);
        let released = self.pool.take().await?.release(&self.name, &self.owner).await?;
        ensure!(released, "{} was lost", self.name);
        Ok(())
    }
}
