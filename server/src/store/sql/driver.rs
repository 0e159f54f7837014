//! Helpers for the drivers of all databases.

use futures::{Stream, TryStreamExt};
use sqlx::query::Query;
use sqlx::{Database, Either, Encode, Type};

use super::connection::Arg;

/// Binds the arguments of a statement that the database prepares once and then reuses.
pub(crate) fn prepared<'q, DB>(sql: &'q str, args: &[Arg<'q>]) -> Query<'q, DB, DB::Arguments<'q>>
where
    DB: Database,
    Option<i64>: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    &'q str: Encode<'q, DB> + Type<DB>,
{
    args.iter().fold(sqlx::query(sql), |query, arg| match arg {
        Arg::Null => query.bind(None::<i64>),
        Arg::Int(value) => query.bind(*value),
        Arg::Text(value) => query.bind(*value),
    })
}

/// The number of rows that each of several statements sent together affected, up to the failed one, if any; and how the
/// statements ended.
pub(crate) async fn affected_rows<D, R, E>(
    mut results: impl Stream<Item = Result<Either<D, R>, E>> + Unpin,
    affected: impl Fn(D) -> u64,
) -> (Vec<u64>, Result<(), E>) {
    let mut all = Vec::new();
    loop {
        match results.try_next().await {
            Ok(Some(Either::Left(done))) => all.push(affected(done)),
            Ok(Some(Either::Right(_))) => {}
            Ok(None) => return (all, Ok(())),
            Err(error) => return (all, Err(error)),
        }
    }
}
