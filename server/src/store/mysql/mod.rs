//! MySQL and MariaDB.

mod append;
mod failure;
pub(crate) mod flavours;
mod host;

pub(crate) use host::MySqlHost;
