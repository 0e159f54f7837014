//! The SQL scripts that `tenure fence-sql` prints. The header of each script describes its use.

/// For PostgreSQL, 13 or newer.
pub const POSTGRES: &str = include_str!("../sql/postgres.sql");

/// For MySQL, 8.0 or newer, and MariaDB, 10.6 or newer.
pub const MYSQL: &str = include_str!("../sql/mysql.sql");

/// For SQLite, 3.24 or newer.
pub const SQLITE: &str = include_str!("../sql/sqlite.sql");
