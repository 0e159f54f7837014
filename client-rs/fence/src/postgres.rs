//! PostgreSQL.

use sqlx::{Connection, Executor, PgConnection, Postgres};

use crate::call::{Call, Speak};
use crate::error::FenceError;
use crate::scripts;

const CALL: &str = "SELECT tenure_fence($1, $2)";

/// Under another isolation level it would fail because of its snapshot, which no statement reads.
const BEGIN_ALONE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

impl Speak for Postgres {
    async fn install(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        connection.execute(sqlx::raw_sql(scripts::POSTGRES)).await?;
        Ok(())
    }

    async fn call(connection: &mut PgConnection, call: Call<'_>) -> Result<(), FenceError> {
        let called = sqlx::query(CALL).bind(call.name).bind(call.token).execute(connection).await;
        called.map(drop).map_err(|error| refusal(call, error))
    }

    async fn call_alone(connection: &mut PgConnection, call: Call<'_>) -> Result<(), FenceError> {
        let mut transaction = connection.begin_with(BEGIN_ALONE).await?;
        Self::call(&mut transaction, call).await?;
        Ok(transaction.commit().await?)
    }
}

/// Classifies an error by its SQLSTATE.
fn refusal(call: Call<'_>, error: sqlx::Error) -> FenceError {
    let Some(reported) = error.as_database_error() else { return FenceError::Database(error) };
    match reported.code().as_deref() {
        Some("TF001") => call.stale_by(reported.message()).unwrap_or(FenceError::Database(error)),
        // Serialization failure, deadlock, lock_timeout.
        Some("40001" | "40P01" | "55P03") => FenceError::Conflict(error),
        // No such function, table, schema.
        Some("42883" | "42P01" | "3F000") => FenceError::NotInstalled(error),
        _ => FenceError::Database(error),
    }
}
