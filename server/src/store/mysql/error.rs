//! Classification of the errors of MySQL and MariaDB.

use sqlx::mysql::MySqlDatabaseError;

use crate::store::sql::DriverError;

/// Classifies an error of a statement in progress. [`append`](super::append) handles errors of a commit.
pub(crate) fn driver_error(error: sqlx::Error) -> DriverError {
    let number = error_number(&error);
    let sqlx::Error::Database(error) = error else { return DriverError::Lost(error.to_string()) };
    let reason = error.message().to_owned();
    match number {
        // Changed in the meantime, duplicate key, deadlock.
        Some(1020 | 1062 | 1213) => DriverError::Conflict,
        // Shutdown, killed, read-only in its various ways, disconnected for inactivity.
        Some(1053 | 1077 | 1079 | 1080 | 1290 | 1792 | 1836 | 1927 | 4031) => DriverError::ReadOnly(reason),
        // A node that its Galera cluster has left behind.
        Some(1047) => DriverError::ReadOnly(reason),
        _ => DriverError::Rejected(reason),
    }
}

/// Classifies an error that occurred before the first request.
pub(crate) fn unreached(error: sqlx::Error) -> DriverError {
    DriverError::Rejected(driver_error(error).reason())
}

/// The server's result; `None` if it lacks the requested feature: a syntax, a variable, a kind of statement that can be
/// prepared. An interruption or a lack of resources does not mean that.
pub(crate) fn understood<T>(answer: Result<T, sqlx::Error>) -> Result<Option<T>, DriverError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error_number(&error), Some(1064 | 1193 | 1295)) => Ok(None),
        Err(error) => Err(unreached(error)),
    }
}

/// The server's number of an error.
pub(crate) fn error_number(error: &sqlx::Error) -> Option<u16> {
    error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}
