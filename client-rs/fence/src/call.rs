//! What a program calls.

use sqlx::{Connection, Database, Transaction};

use crate::error::FenceError;

/// The longest name, in bytes.
const NAME_BYTES: usize = 255;

/// A database that has a fence: `sqlx::Postgres`, `sqlx::MySql`, `sqlx::Sqlite`, each with the feature of its name.
pub trait FenceDatabase: Database + sealed::Speak {
    /// The script that installs it: see [`scripts`](crate::scripts).
    const SQL: &'static str;
}

pub(crate) mod sealed {
    use std::future::Future;

    use sqlx::Database;

    use crate::error::FenceError;

    /// What the fence is told in each dialect.
    pub trait Speak: Database {
        /// Executes the script.
        fn install(connection: &mut Self::Connection) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

        /// Calls the fence in the transaction that the connection is in.
        fn call(
            connection: &mut Self::Connection,
            call: Call<'_>,
        ) -> impl Future<Output = Result<(), FenceError>> + Send;

        /// Calls the fence in a transaction of its own.
        fn call_alone(
            connection: &mut Self::Connection,
            call: Call<'_>,
        ) -> impl Future<Output = Result<(), FenceError>> + Send;
    }

    /// A name and a token within their bounds.
    #[derive(Clone, Copy, Debug)]
    pub struct Call<'a> {
        pub(crate) name: &'a str,
        pub(crate) token: i64,
    }
}

pub(crate) use sealed::{Call, Speak};

impl<'a> Call<'a> {
    fn new(name: &'a str, token: u64) -> Result<Self, FenceError> {
        if name.is_empty() || name.len() > NAME_BYTES {
            return Err(FenceError::InvalidName { length: name.len() });
        }
        match i64::try_from(token) {
            Ok(signed) if signed > 0 => Ok(Self { name, token: signed }),
            _ => Err(FenceError::InvalidToken { token }),
        }
    }

    /// The refusal because of a higher token.
    pub(crate) fn stale(self, highest: u64) -> FenceError {
        FenceError::Stale { name: self.name.to_owned(), token: self.token.unsigned_abs(), highest }
    }
}

/// Lets a transaction in, unless the database has seen a higher token for the name. First of all in the transaction: what it
/// read before may be older than what a lower token has done. Not in a savepoint that may be rolled back: that takes it back.
///
/// May wait for transactions of other tokens (in SQLite: for every other writer), for as long as the settings of the database
/// allow: `lock_timeout` in PostgreSQL, `innodb_lock_wait_timeout` in MySQL, `busy_timeout` in SQLite. Set these rather than drop
/// the future, since the database goes on waiting when nobody listens any more.
///
/// # Errors
/// See [`FenceError`].
pub async fn check<DB: FenceDatabase>(
    transaction: &mut Transaction<'_, DB>,
    name: &str,
    token: u64,
) -> Result<(), FenceError> {
    DB::call(&mut **transaction, Call::new(name, token)?).await
}

/// Makes a token known to the database, in a transaction of its own, outside of any other: from then on nobody is let in with a
/// lower one. To be called as soon as the lock is granted, if at all.
///
/// It waits for the transactions of lower tokens at a place of the program's choice. The first transactions of this token then
/// begin side by side, and without a [`Conflict`](FenceError::Conflict) among themselves.
///
/// # Errors
/// See [`FenceError`].
pub async fn raise<C>(connection: &mut C, name: &str, token: u64) -> Result<(), FenceError>
where
    C: Connection,
    C::Database: FenceDatabase<Connection = C>,
{
    <C::Database as Speak>::call_alone(connection, Call::new(name, token)?).await
}

/// Installs the fence in the database that the connection is to, outside of any transaction; or does it again, which keeps the
/// tokens. A step for whoever migrates the database, like the migrations of other tables; not for each start of a program.
///
/// # Errors
/// As the database refuses.
pub async fn install<C>(connection: &mut C) -> Result<(), sqlx::Error>
where
    C: Connection,
    C::Database: FenceDatabase<Connection = C>,
{
    <C::Database as Speak>::install(connection).await
}

/// The highest token, as the messages of PostgreSQL and MySQL tell it: `stale fencing token 33: 34 is the highest seen for job`.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn highest_in(message: &str) -> Option<u64> {
    let (_, rest) = message.strip_prefix("stale fencing token ")?.split_once(": ")?;
    rest.split_once(' ')?.0.parse().ok()
}
