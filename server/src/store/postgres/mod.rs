//! PostgreSQL, directly or through a pooler like PgBouncer in transaction mode.

pub(crate) mod copy;
mod failure;
pub(crate) mod flavours;
pub(crate) mod hints;
mod host;
pub(crate) mod questions;
mod warnings;

pub(crate) use hints::PostgresHints;
pub(crate) use host::PostgresHost;
