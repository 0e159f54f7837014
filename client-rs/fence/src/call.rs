//! The public functions.

use sqlx::{Connection, Database, Transaction};

use crate::error::FenceError;

/// The longest name, in bytes.
const NAME_BYTES: usize = 255;

/// A database with a fence: `sqlx::Postgres`, `sqlx::MySql`, `sqlx::Sqlite`, each with the feature of its name.
pub trait FenceDatabase: Database + sealed::Speak {}

impl<DB: sealed::Speak> FenceDatabase for DB {}

pub(crate) mod sealed {
    use std::future::Future;

    use sqlx::Database;

    use crate::error::FenceError;

    /// The calls to the fence in each SQL dialect.
    pub trait Speak: Database {
        /// Executes the script.
        fn install(connection: &mut Self::Connection) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

        /// Calls the fence in the transaction that the connection is in.
        fn call(
            connection: &mut Self::Connection,
            call: Call<'_>,
        ) -> impl Future<Output = Result<(), FenceError>> + Send;

        /// Calls the fence in a transaction of its own: by default that of the statement.
        fn call_alone(
            connection: &mut Self::Connection,
            call: Call<'_>,
        ) -> impl Future<Output = Result<(), FenceError>> + Send {
            Self::call(connection, call)
        }
    }

    /// A name and a token that have been validated.
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

    /// The rejection because of a higher token.
    pub(crate) fn stale(self, highest: u64) -> FenceError {
        FenceError::Stale { name: self.name.to_owned(), token: self.token.unsigned_abs(), highest }
    }

    /// The rejection that PostgreSQL and MySQL describe: `stale fencing token 33: 34 is the highest seen for job`.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn stale_by(self, message: &str) -> Option<FenceError> {
        let (_, rest) = message.strip_prefix("stale fencing token ")?.split_once(": ")?;
        Some(self.stale(rest.split_once(' ')?.0.parse().ok()?))
    }
}

/// Admits a transaction, unless the database has seen a higher token for the name. It must be the first statement of
/// the transaction: anything read earlier may predate the writes of a lower token. Do not call it in a savepoint that
/// may be rolled back, which undoes the check.
///
/// May wait for transactions with other tokens (in SQLite: for every other writer), as long as the settings of the
/// database allow: `lock_timeout` in PostgreSQL, `innodb_lock_wait_timeout` in MySQL, `busy_timeout` in SQLite. Set
/// these rather than drop the future, since the database keeps waiting after the future is dropped.
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

/// Records a token in the database, in a transaction of its own, outside of any other: from then on the database
/// rejects lower tokens. If used at all, call it as soon as the lock is granted.
///
/// It waits for the transactions of lower tokens at a point that the program chooses. The first transactions of this
/// token can then begin concurrently, without a [`Conflict`](FenceError::Conflict) among themselves.
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

/// Installs the fence in the connected database, outside of any transaction. Repeating it keeps the tokens. Run it as a
/// migration, like those of other tables, and not at each start of a program.
///
/// # Errors
/// The database's error.
pub async fn install<C>(connection: &mut C) -> Result<(), sqlx::Error>
where
    C: Connection,
    C::Database: FenceDatabase<Connection = C>,
{
    <C::Database as Speak>::install(connection).await
}
