//! Appending of a batch to MySQL and MariaDB. MariaDB spends most time not on the change but on parsing the statements
//! and answering each of them, even if they are sent together. Where the server supports it, the head is therefore
//! advanced by one prepared statement. Creating and adopting a head is rare.

use sqlx::Executor;
use sqlx::mysql::{MySql, MySqlConnection};

use super::error::{driver_error, error_number};
use crate::store::sql::literal::with_literals;
use crate::store::sql::{Append, DriverError, affected_rows, prepared};

/// The error by which that statement reports that the head is not at the expected revision.
const NOT_THERE: u16 = 7422;

/// Appends by four statements in one round trip, each of which returns a result.
pub(crate) async fn one_by_one(
    connection: &mut MySqlConnection,
    sql: &'static str,
    append: &Append<'_>,
) -> Result<bool, DriverError> {
    let sql = with_literals(sql, &append.args(), "'");
    let (met, ended) = affected_rows(connection.fetch_many(&*sql), |done| done.rows_affected()).await;
    match (ended, met.as_slice()) {
        (Ok(()), [_, moved, _, _]) => Ok(*moved == 1),
        (Ok(()), _) => Err(DriverError::Lost(format!("4 results expected, not {}", met.len()))),
        // An error of the commit itself does not show whether it took effect, unless it is a conflict.
        (Err(error), [_, _, _]) => match driver_error(error) {
            DriverError::Conflict => Err(DriverError::Conflict),
            other => Err(DriverError::Lost(other.reason())),
        },
        (Err(error), _) => Err(driver_error(error)),
    }
}

/// Advances the head by one statement, which is the whole transaction.
pub(crate) async fn at_once(
    connection: &mut MySqlConnection,
    sql: &'static str,
    append: &Append<'_>,
) -> Result<bool, DriverError> {
    let [revision, namespace, previous, server, number, at_ms, _] = append.args();
    let args = [revision, namespace, previous, namespace, previous, revision, server, number, at_ms];
    match prepared::<MySql>(sql, &args).bind(append.events.as_bytes()).execute(&mut *connection).await {
        Ok(_) => Ok(true),
        Err(error) if error_number(&error) == Some(NOT_THERE) => Ok(false),
        Err(error) => match driver_error(error) {
            DriverError::Conflict => Err(DriverError::Conflict),
            error if is_in_transaction(connection).await => Err(error),
            error => Err(DriverError::Lost(error.reason())),
        },
    }
}

/// Whether the transaction is certainly not committed: a commit first of all ends it, whatever its outcome.
async fn is_in_transaction(connection: &mut MySqlConnection) -> bool {
    let answer = connection.fetch_all("SELECT 'in' FROM (SELECT 1) AS one WHERE @@in_transaction = 1").await;
    answer.is_ok_and(|rows| !rows.is_empty())
}
