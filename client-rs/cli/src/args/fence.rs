//! The arguments of `tenure fence-sql`.

use clap::{Args, ValueEnum};

/// `tenure fence-sql`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure fence-sql postgres | psql -v ON_ERROR_STOP=1 \"$DATABASE_URL\"
  tenure fence-sql mysql | mysql your_database    # or mariadb
  tenure fence-sql sqlite | sqlite3 -bail your.db
  tenure fence-sql postgres > migrations/0007_tenure_fence.sql

Then each transaction that a lock protects begins with a call that names the lock and the fencing token of the hold, and \
fails if a newer holder was there (in MySQL it is CALL, in SQLite an INSERT):

  SELECT tenure_fence('nightly-report', 33);

How to use it, its errors and how to remove it stand at the top of what is printed. It works in any database, asks no server \
of Tenure, and may be installed again at any time: it keeps what it knows.")]
pub struct FenceSqlArgs {
    /// The kind of database
    pub dialect: FenceDialect,
}

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FenceDialect {
    /// PostgreSQL, 13 or newer
    Postgres,
    /// MySQL, 8.0 or newer, and MariaDB, 10.6 or newer
    #[value(alias = "mariadb")]
    Mysql,
    /// SQLite, 3.24 or newer
    Sqlite,
}
