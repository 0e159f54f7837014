//! Databases that were restored from a backup: what they say is true of an earlier time, and revisions beyond it have been given
//! already. So they are made another database than that on which the heads of their namespaces were written, and the
//! servers jump ahead, as after any failover that may have lost commits.

use std::time::Duration;

use tokio::time::timeout;

use super::connection::{Arg, Connection, Failure};
use super::options::OpenError;

/// How long all migrations together may take, and whatever else is done to all of a database.
pub(crate) const BOUND: Duration = Duration::from_secs(120);

/// When the tables of a database were made, in the words of that database, which no dump takes along.
struct CreatedIdentity {
    now: String,
    recorded: Option<String>,
}

impl CreatedIdentity {
    async fn ask(connection: &mut dyn Connection) -> Result<Self, Failure> {
        let rows = connection.fetch(connection.sql().created_identity, &[]).await?;
        let row = rows.first().ok_or_else(|| Failure::Refused("the database has no table of migrations".to_owned()))?;
        let recorded = if row.is_null(1) { None } else { Some(row.text(1)?.to_owned()) };
        Ok(Self { now: row.text(0)?.to_owned(), recorded })
    }

    fn is_recorded(&self) -> bool {
        self.recorded.as_ref() == Some(&self.now)
    }
}

/// Within a transaction. Returns how many heads there are.
async fn reset_identity(connection: &mut dyn Connection) -> Result<u64, Failure> {
    let sql = connection.sql();
    let count = connection.execute(sql.reset_heads, &[]).await?;
    connection.execute(sql.reset_created_since, &[]).await?;
    Ok(count)
}

/// Finds out whether the tables were made from a dump since a server last opened the database.
async fn look(connection: &mut dyn Connection) -> Result<(), Failure> {
    if CreatedIdentity::ask(connection).await?.is_recorded() {
        return Ok(());
    }
    let sql = connection.sql();
    connection.script(sql.begin).await?;
    connection.script(sql.lock_migrations).await?;
    let created_identity = CreatedIdentity::ask(connection).await?;
    if !created_identity.is_recorded() {
        if created_identity.recorded.is_some() {
            let heads = reset_identity(connection).await?;
            tracing::warn!(namespaces = heads, "the database was made from a dump: its tokens jump ahead");
        }
        connection.execute(sql.record_created_identity, &[Arg::Text(&created_identity.now)]).await?;
    }
    connection.script("COMMIT").await
}

/// See [`look`]. Bounded in time.
pub(crate) async fn notice_restore(connection: &mut dyn Connection) -> Result<(), Failure> {
    let late = |_| Failure::Refused(format!("the database did not say within {BOUND:?} when its tables were made"));
    timeout(BOUND, look(connection)).await.map_err(late)?
}

/// Has the servers take a database for one that was restored from a backup. Returns how many namespaces there are.
pub(crate) async fn mark_restored(connection: &mut dyn Connection) -> Result<u64, OpenError> {
    let late = |_| OpenError::Unavailable(format!("no answer within {BOUND:?}"));
    let mark = async {
        connection.script(connection.sql().begin).await?;
        let namespaces = reset_identity(connection).await?;
        connection.script("COMMIT").await?;
        Ok::<_, Failure>(namespaces)
    };
    Ok(timeout(BOUND, mark).await.map_err(late)??)
}
