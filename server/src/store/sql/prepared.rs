//! Statements that the database prepares once and then reuses.

use sqlx::query::Query;
use sqlx::{Database, Encode, Type};

use super::connection::Arg;

/// Binds a statement's arguments.
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
