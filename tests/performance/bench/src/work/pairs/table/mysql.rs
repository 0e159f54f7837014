//! The lock table in MariaDB and MySQL.

use sqlx::{Connection, MySqlConnection};

use super::LockTable;

const CREATE: &str = "CREATE TABLE locks (name varchar(255) COLLATE utf8mb4_bin PRIMARY KEY, owner varchar(255), \
                      expires datetime)";
const PREPARE: &str = "INSERT IGNORE INTO locks (name) VALUES (?)";
const READ: &str = "SELECT owner, coalesce(expires > now(), false) FROM locks WHERE name = ? FOR UPDATE";
const TAKE: &str = "UPDATE locks SET owner = ?, expires = now() + interval 10 minute WHERE name = ?";
const GIVE: &str = "UPDATE locks SET owner = NULL, expires = NULL WHERE name = ?";

impl LockTable for MySqlConnection {
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
        sqlx::query(TAKE).bind(owner).bind(name).execute(&mut *transaction).await?;
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
