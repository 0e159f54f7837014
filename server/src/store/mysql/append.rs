//! How a batch is appended to MySQL and MariaDB. What takes MariaDB most time is not the change but to read the statements and
//! to answer each of them, even if they are sent at one go: hence one statement, prepared, where the server can do that, to
//! advance the head. To create and to adopt it is rare.

use sqlx::Executor;
use sqlx::mysql::{MySql, MySqlConnection, MySqlDatabaseError};

use super::failure::failure;
use crate::store::sql::literal::with_literals;
use crate::store::sql::{Append, Arg, Failure, HeadMove, prepared, rows_met};

/// The error by which the one statement says that the head is not where it should be.
pub(crate) const NOT_THERE: u16 = 7422;

/// Four statements in one round trip, each of which is answered.
pub(crate) async fn one_by_one(
    connection: &mut MySqlConnection,
    sql: &'static str,
    append: &Append<'_>,
) -> Result<bool, Failure> {
    let namespace = Arg::Text(append.namespace);
    let revision = Arg::Int(append.revision);
    let previous = Arg::Int(append.previous);
    let mut args = vec![revision, namespace];
    if !matches!(append.head, HeadMove::Create | HeadMove::CreateAnew) {
        args.push(previous);
    }
    args.extend([previous, Arg::Int(append.server), Arg::Int(append.number), Arg::Int(append.at_ms)]);
    args.extend([Arg::Text(append.events), namespace, revision]);
    let sql = with_literals(sql, &args, "'");
    let (met, ended) = rows_met(connection.fetch_many(&*sql), |done| done.rows_affected()).await;
    match (ended, met.as_slice()) {
        (Ok(()), [_, moved, _, _]) => Ok(*moved == 1),
        (Ok(()), _) => Err(Failure::Lost(format!("4 answers expected, not {}", met.len()))),
        // An error of the commit itself says nothing about what became of it, unless it is a conflict.
        (Err(error), [_, _, _]) => match failure(error) {
            Failure::Conflict => Err(Failure::Conflict),
            other => Err(Failure::Lost(other.reason())),
        },
        (Err(error), _) => Err(failure(error)),
    }
}

/// One statement, which is all of the transaction, to advance the head.
pub(crate) async fn at_once(
    connection: &mut MySqlConnection,
    sql: &'static str,
    append: &Append<'_>,
) -> Result<bool, Failure> {
    let namespace = Arg::Text(append.namespace);
    let (previous, revision) = (Arg::Int(append.previous), Arg::Int(append.revision));
    let (server, number, at_ms) = (Arg::Int(append.server), Arg::Int(append.number), Arg::Int(append.at_ms));
    let args = [revision, namespace, previous, namespace, previous, revision, server, number, at_ms];
    match prepared::<MySql>(sql, &args).bind(append.events.as_bytes()).execute(&mut *connection).await {
        Ok(_) => Ok(true),
        Err(error) if is_not_there(&error) => Ok(false),
        Err(error) => match failure(error) {
            Failure::Conflict => Err(Failure::Conflict),
            failure if is_in_transaction(connection).await => Err(failure),
            failure => Err(Failure::Lost(failure.reason())),
        },
    }
}

fn is_not_there(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    error.is_some_and(|error| error.number() == NOT_THERE)
}

/// Whether the transaction surely is not committed: a commit ends it first of all, whatever then becomes of it.
async fn is_in_transaction(connection: &mut MySqlConnection) -> bool {
    let answer = connection.fetch_all("SELECT 'in' FROM (SELECT 1) AS one WHERE @@in_transaction = 1").await;
    answer.is_ok_and(|rows| !rows.is_empty())
}
