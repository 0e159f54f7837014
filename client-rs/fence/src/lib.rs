//! Fencing where it counts: a process that is paused may write after it has lost its lock, and the user's own database turns
//! it away.
//!
//! For each name the database keeps the highest fencing token that it has seen. A transaction begins with a [`check`] of its
//! token:
//! - if it is the highest one seen, the transaction is let in, beside others with the same token (in SQLite: after them);
//! - if it is higher, it waits until the transactions that were let in with lower ones have ended, and sees what they have done.
//!   From then on nobody is let in with a lower one;
//! - if it is lower, it is refused: [`FenceError::Stale`].
//!
//! It works in any database, not only in Tenure's own, and asks no server of Tenure. To be installed once, like a migration: by
//! [`install`], or by `tenure fence-sql postgres | psql`. What there is for people, and which settings end a wait for a
//! transaction of a process that is paused, stands at the top of each script: [`scripts`].
//!
//! ```no_run
//! # #[cfg(feature = "postgres")]
//! # async fn example(pool: sqlx::PgPool, client: tenure_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let guard = client.lock("nightly-report").acquire().await?;
//!
//! // Here this waits for what the holder before has not committed yet. It may be left out.
//! tenure_fence::raise(&mut *pool.acquire().await?, "nightly-report", guard.token()).await?;
//!
//! let mut transaction = pool.begin().await?;
//! tenure_fence::check(&mut transaction, "nightly-report", guard.token()).await?;
//! sqlx::query("UPDATE reports SET pages = pages + 1").execute(&mut *transaction).await?;
//! transaction.commit().await?;
//! # Ok(()) }
//! ```
//!
//! The name is the lock's, or any other for what is protected: 1 to 255 bytes, compared as they are. All tokens for a name must
//! come from one namespace of one Tenure.

pub mod scripts;

#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod call;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod error;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub use call::{FenceDatabase, check, install, raise};
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub use error::FenceError;
