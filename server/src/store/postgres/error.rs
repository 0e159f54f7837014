//! Classification of PostgreSQL's errors.

use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::store::sql::DriverError;

/// Classifies an error of a statement in progress.
pub(crate) fn driver_error(error: sqlx::Error) -> DriverError {
    let sqlx::Error::Database(error) = error else { return DriverError::Lost(error.to_string()) };
    let reason = error.message().to_owned();
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    match error.code().as_deref() {
        _ if severity == Some(PgSeverity::Panic) => DriverError::Lost(reason),
        // Serialization failure, deadlock, and a row that another transaction has just inserted.
        Some("40001" | "40P01" | "23505") => DriverError::Conflict,
        // A read-only transaction; a shutdown, which rolls back the transaction in progress.
        Some("25006" | "57P01" | "57P02" | "57P03") => DriverError::ReadOnly(reason),
        // It is not known whether the statement was completed.
        Some("40003") => DriverError::Lost(reason),
        // A pooler reports in this way that it has lost the server, at any point of the exchange.
        Some(code) if code.starts_with("08") => DriverError::Lost(reason),
        _ => DriverError::Rejected(reason),
    }
}

/// Classifies an error that occurred before the first request.
pub(crate) fn unreached(error: sqlx::Error) -> DriverError {
    DriverError::Rejected(driver_error(error).reason())
}
