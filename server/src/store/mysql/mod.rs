//! Store dialect for MySQL and MariaDB.

mod append;
mod error;
mod flavours;
mod host;

pub(crate) use host::MySqlHost;
