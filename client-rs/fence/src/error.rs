//! Why a transaction is rejected.

/// Why a transaction is rejected. It must be rolled back after any of these errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// Another holder has taken over: stop the work under this token. Retrying cannot succeed.
    #[error("stale fencing token {token}: {highest} is the highest seen for {name}")]
    Stale {
        /// The name.
        name: String,
        /// The rejected token.
        token: u64,
        /// The highest token that the database has seen for the name.
        highest: u64,
    },
    /// Conflict with other transactions: a serialization failure, a deadlock, or a wait beyond the limit in the
    /// database's settings. Run the transaction again from its beginning.
    #[error("other transactions were in the way: {0}")]
    Conflict(#[source] sqlx::Error),
    /// The name is out of bounds.
    #[error("a fence's name has 1 to 255 bytes, not {length}")]
    InvalidName {
        /// Its length, in bytes.
        length: usize,
    },
    /// The token is out of bounds.
    #[error("a fencing token is 1 to 9223372036854775807, not {token}")]
    InvalidToken {
        /// The token.
        token: u64,
    },
    /// The fence is not installed, or the caller lacks the privilege to see it: see [`install`](crate::install).
    #[error("the fence is not installed (`tenure fence-sql` prints what to execute): {0}")]
    NotInstalled(#[source] sqlx::Error),
    /// Any other error of the database or the connection.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}
