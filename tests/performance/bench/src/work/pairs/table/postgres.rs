//! The lock table in PostgreSQL.

use sqlx::{Connection, PgConnection};

use super::LockTable;

const CREATE: &str = "CREATE TABLE locks (name text PRIMARY KEY, owner text, expires timestamptz)";
const PREPARE: &str = "INSERT INTO locks (name) VALUES ($1) ON CONFLICT DO NOTHING";
const READ: &str = "SELECT owner, coalesce(expires > now(), false) FROM locks WHERE name = $1 FOR UPDATE";
const TAKE: &str = "UPDATE locks SET owner = $2, expires = now() + interval '10 minutes' WHERE name = $1";
const GIVE: &str = "UPDATE locks SET owner = NULL, expires = NULL WHERE name = $1";

impl LockTable for PgConnection {
    async fn open(url: &str) -> sqlx::Result<Self> {
        Self::connect(url).await
    }

    async fn create(&mut self) -> sqlx::Result<()> {
        sqlx::query(CREATE).execute(self).await.map(drop)
    }

    async fn prepare(&mut self, name: &str) -> sqlx::Result<()> {
        sqlx::query(PREPARE).bind(name).execute(self).await.map(drop)
    }

    async fn acquire(&mut self, name: &str, owner: &str) -> sqlx::Result<bool> {
        let mut transaction = self.begin().await?;
        let (_, held): (Option<String>, bool) = sqlx::query_as(READ).bind(name).fetch_one(&mut *transaction).await?;
        if held {
            return transaction.rollback().await.map(|()| false);
        }
        sqlx::query(TAKE).bind(name).bind(owner).execute(&mut *transaction).await?;
        transaction.commit().await.map(|()| true)
    }

    async fn release(&mut self, name: &str, owner: &str) -> sqlx::Result<bool> {
        let mut transaction = self.begin().await?;
        let (holder, held): (Option<String>, bool) =
            sqlx::query_as(READ).bind(name).fetch_one(&mut *transaction).await?;
        if !held || holder.as_deref() != Some(owner) {
            return transaction.rollback().await.map(|()| false);
        }
        sqlx::query(GIVE).bind(name).execute(&mut *transaction).await?;
        transaction.commit().await.map(|()| true)
    }
}
