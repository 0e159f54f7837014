//! SQLite.

use sqlx::{Connection, Executor, Sqlite, SqliteConnection};

use crate::call::{Call, Speak};
use crate::error::FenceError;
use crate::scripts;

const CALL: &str = "INSERT INTO tenure_fence (name, token) VALUES (?, ?)";

const HIGHEST: &str = "SELECT token FROM tenure_fences WHERE name = ?";

/// The script drops the view for a moment; the transaction hides that from readers.
const BEGIN_INSTALL: &str = "BEGIN IMMEDIATE";

/// SQLITE_BUSY and SQLITE_LOCKED, without the bits of the extended code.
const BUSY: [i32; 2] = [5, 6];

impl Speak for Sqlite {
    async fn install(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let mut transaction = connection.begin_with(BEGIN_INSTALL).await?;
        transaction.execute(sqlx::raw_sql(scripts::SQLITE)).await?;
        transaction.commit().await
    }

    async fn call(connection: &mut SqliteConnection, call: Call<'_>) -> Result<(), FenceError> {
        let called = sqlx::query(CALL).bind(call.name).bind(call.token).execute(&mut *connection).await;
        let Err(error) = called else { return Ok(()) };
        let Some(reported) = error.as_database_error() else { return Err(FenceError::Database(error)) };
        if reported.message() == "stale fencing token" {
            // The message does not contain the highest token; the transaction is still open, so it can be queried.
            let highest: i64 = sqlx::query_scalar(HIGHEST).bind(call.name).fetch_one(connection).await?;
            return Err(call.stale(highest.unsigned_abs()));
        }
        let code: Option<i32> = reported.code().and_then(|code| code.parse().ok());
        if code.is_some_and(|code| BUSY.contains(&(code & 0xff))) {
            return Err(FenceError::Conflict(error));
        }
        if reported.message().starts_with("no such table: ") {
            return Err(FenceError::NotInstalled(error));
        }
        Err(FenceError::Database(error))
    }
}
