//! Store dialect for SQLite, whose file one process owns.

mod backup;
mod file;
mod statements;

pub use backup::{back_up, restore};
pub(crate) use file::SqliteConnector;
