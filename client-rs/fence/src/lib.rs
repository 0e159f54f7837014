//! Fencing tokens checked by the user's own database, which rejects the writes of a process that was paused and has
//! lost its lock meanwhile.
//!
//! For each name the database keeps the highest fencing token that it has seen. A transaction begins with a [`check`]
//! of its token:
//! - if it equals the highest one seen, the transaction is admitted, concurrently with others of the same token (in
//!   SQLite: after them);
//! - if it is higher, it waits until the transactions admitted with lower ones have ended, and sees their writes. From
//!   then on lower tokens are rejected;
//! - if it is lower, it is rejected: [`FenceError::Stale`].
//!
//! It works in any database, not only in Tenure's own, and does not contact a Tenure server. Install it once, like a
//! migration: by [`install`], or by `tenure fence-sql postgres | psql`. The header of each script describes the views
//! for operators, and the settings that bound the wait for a transaction of a paused process: [`scripts`].
//!
//! ```no_run
//! # #[cfg(feature = "postgres")]
//! # async fn example(pool: sqlx::PgPool, client: tenure_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let guard = client.lock("nightly-report").acquire().await?;
//!
//! // Optional: waits here for uncommitted transactions of the previous holder.
//! tenure_fence::raise(&mut *pool.acquire().await?, "nightly-report", guard.token()).await?;
//!
//! let mut transaction = pool.begin().await?;
//! tenure_fence::check(&mut transaction, "nightly-report", guard.token()).await?;
//! sqlx::query("UPDATE reports SET pages = pages + 1").execute(&mut *transaction).await?;
//! transaction.commit().await?;
//! # Ok(()) }
//! ```
//!
//! The name is the lock's, or any other name for the protected resource: 1 to 255 bytes, compared bytewise. All tokens
//! for a name must come from one namespace of one Tenure.

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
