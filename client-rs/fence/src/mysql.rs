//! MySQL and MariaDB.

use sqlx::mysql::MySqlDatabaseError;
use sqlx::{Executor, MySql, MySqlConnection};

use crate::call::{Call, Speak};
use crate::error::FenceError;
use crate::scripts;

const CALL: &str = "CALL tenure_fence(?, ?)";

/// A call alone is outside of a transaction: in autocommit mode each statement of the procedure is one of its own, so that
/// none holds a lock while it waits for another.
impl Speak for MySql {
    async fn install(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        connection.execute(sqlx::raw_sql(scripts::MYSQL)).await?;
        Ok(())
    }

    async fn call(connection: &mut MySqlConnection, call: Call<'_>) -> Result<(), FenceError> {
        let called = sqlx::query(CALL).bind(call.name).bind(call.token).execute(connection).await;
        called.map(drop).map_err(|error| refusal(call, error))
    }
}

/// Classifies an error by its number, since SQLSTATE is too coarse.
fn refusal(call: Call<'_>, error: sqlx::Error) -> FenceError {
    let reported = error.as_database_error().and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    let Some(reported) = reported else { return FenceError::Database(error) };
    match reported.number() {
        7420 => call.stale_by(reported.message()).unwrap_or(FenceError::Database(error)),
        // The record has changed since the snapshot (MariaDB), lock wait timeout, deadlock.
        1020 | 1205 | 1213 => FenceError::Conflict(error),
        // No such procedure, table.
        1305 | 1146 => FenceError::NotInstalled(error),
        _ => FenceError::Database(error),
    }
}
