//! Store dialect for MySQL and MariaDB.

mod append;
mod failure;
mod flavours;
mod host;

pub(crate) use host::MySqlHost;
