//! Handling of databases that were restored from a backup. Their contents are of an earlier time, and revisions beyond
//! it have already been used. The identity of such a database is reset, so that it differs from the one that the heads
//! of its namespaces were written on, and the servers jump ahead, as after any failover that may have lost commits.

use std::time::Duration;

use tokio::time::timeout;

use super::connection::{Arg, Connection, DriverError};
use super::options::OpenError;

/// Time limit for all migrations together, and for any other operation on a whole database.
pub(crate) const BOUND: Duration = Duration::from_secs(120);

/// When the tables of a database were created, as that database reports it and as recorded in it. A dump contains only
/// the record.
async fn created_identity(connection: &mut dyn Connection) -> Result<(String, Option<String>), DriverError> {
    let rows = connection.fetch(connection.sql().created_identity, &[]).await?;
    let row =
        rows.first().ok_or_else(|| DriverError::Rejected("the database has no table of migrations".to_owned()))?;
    let recorded = if row.is_null(1) { None } else { Some(row.text(1)?.to_owned()) };
    Ok((row.text(0)?.to_owned(), recorded))
}

/// Resets the identity, within a transaction. Returns the number of heads.
async fn reset_identity(connection: &mut dyn Connection) -> Result<u64, DriverError> {
    let sql = connection.sql();
    let count = connection.execute(sql.reset_heads, &[]).await?;
    connection.execute(sql.reset_created_since, &[]).await?;
    Ok(count)
}

/// Detects whether the tables were created from a dump since a server last opened the database.
async fn look(connection: &mut dyn Connection) -> Result<(), DriverError> {
    let (reported, recorded) = created_identity(connection).await?;
    if recorded == Some(reported) {
        return Ok(());
    }
    let sql = connection.sql();
    connection.script(sql.begin).await?;
    connection.script(sql.lock_migrations).await?;
    let (reported, recorded) = created_identity(connection).await?;
    if recorded.as_ref() != Some(&reported) {
        if recorded.is_some() {
            let heads = reset_identity(connection).await?;
            tracing::warn!(namespaces = heads, "the database was restored from a dump: tokens jump ahead");
        }
        connection.execute(sql.record_created_identity, &[Arg::Text(&reported)]).await?;
    }
    connection.script("COMMIT").await
}

/// Runs [`look`] within a time limit.
pub(crate) async fn notice_restore(connection: &mut dyn Connection) -> Result<(), DriverError> {
    let late = |_| DriverError::Rejected(format!("no reply within {BOUND:?} about when the tables were created"));
    timeout(BOUND, look(connection)).await.map_err(late)?
}

/// Marks a database as restored from a backup. Returns the number of namespaces.
pub(crate) async fn mark_restored(connection: &mut dyn Connection) -> Result<u64, OpenError> {
    let late = |_| OpenError::Unavailable(format!("no reply within {BOUND:?}"));
    let mark = async {
        connection.script(connection.sql().begin).await?;
        let namespaces = reset_identity(connection).await?;
        connection.script("COMMIT").await?;
        Ok::<_, DriverError>(namespaces)
    };
    Ok(timeout(BOUND, mark).await.map_err(late)??)
}
