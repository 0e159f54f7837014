//! The implementation that all SQL stores share. Each dialect provides its statements, and connections that execute
//! them; everything else is here.

mod connection;
mod driver;
mod hosts;
pub(crate) mod literal;
mod loading;
pub(crate) mod migrations;
mod options;
pub(crate) mod page;
mod pool;
pub(crate) mod restore;
pub(crate) mod rows;
mod saving;
pub(crate) mod scripts;
mod statements;
mod store;

pub(crate) use connection::{Append, Arg, Connection, Connector, DriverError, Each, Part, RowReader};
#[cfg(test)]
pub(crate) use connection::{Cell, Row};
pub(crate) use driver::{affected_rows, prepared};
pub(crate) use hosts::{Host, Hosts};
pub(crate) use options::Target;
pub use options::{OpenError, StoreOptions};
pub(crate) use pool::Pool;
pub(crate) use statements::{Appends, HeadMove, Statements, Table, fill, load_statements, sql};
pub(crate) use store::{Hints, SqlStore};
