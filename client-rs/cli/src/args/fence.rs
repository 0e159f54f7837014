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

Each transaction that a lock protects then starts with a call with the lock and the fencing token of the hold, which \
fails if a newer holder has made a call (MySQL: CALL, SQLite: an INSERT):

  SELECT tenure_fence('nightly-report', 33);

Usage, errors and removal are described at the top of the script. It needs no Tenure server, and may be installed \
repeatedly: it keeps the recorded tokens.")]
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
