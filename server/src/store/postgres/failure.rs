//! What PostgreSQL's errors mean.

use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::store::sql::Failure;

/// What an error means that came while a statement was under way.
pub(crate) fn failure(error: sqlx::Error) -> Failure {
    let sqlx::Error::Database(error) = error else { return Failure::Lost(error.to_string()) };
    let reason = error.message().to_owned();
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    match error.code().as_deref() {
        _ if severity == Some(PgSeverity::Panic) => Failure::Lost(reason),
        // Serialization failure, deadlock, and what somebody else has just inserted.
        Some("40001" | "40P01" | "23505") => Failure::Conflict,
        // A read-only transaction; a shutdown, which undoes what is under way.
        Some("25006" | "57P01" | "57P02" | "57P03") => Failure::Away(reason),
        // It is not known whether the statement was completed.
        Some("40003") => Failure::Lost(reason),
        // A pooler says in this way that it has lost the server, at whatever point.
        Some(code) if code.starts_with("08") => Failure::Lost(reason),
        _ => Failure::Refused(reason),
    }
}

/// What an error means that came before anything was asked.
pub(crate) fn unreached(error: sqlx::Error) -> Failure {
    Failure::Refused(failure(error).reason())
}
