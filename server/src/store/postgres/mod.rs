//! Store dialect for PostgreSQL, directly or through a pooler like PgBouncer in transaction mode.

mod copy;
mod error;
mod flavours;
mod hints;
mod host;
mod probe;
mod warnings;

pub(crate) use hints::PostgresHints;
pub(crate) use host::PostgresHost;
