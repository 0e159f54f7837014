//! Why a transaction is not let in.

/// Why a transaction is not let in. After any of them it is to be rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// Another holder has taken over: end the work under this token. Trying again is in vain.
    #[error("stale fencing token {token}: {highest} is the highest seen for {name}")]
    Stale {
        /// The name.
        name: String,
        /// The token that was refused.
        token: u64,
        /// The highest one that the database has seen for the name.
        highest: u64,
    },
    /// Other transactions were in the way: a serialization failure, a deadlock, or a wait for longer than the database's
    /// settings allow. To be run again from its beginning.
    #[error("other transactions were in the way: {0}")]
    Conflict(#[source] sqlx::Error),
    /// The name is out of bounds.
    #[error("a fence's name has 1 to 255 bytes, not {length}")]
    InvalidName {
        /// How many bytes it has.
        length: usize,
    },
    /// The token is out of bounds.
    #[error("a fencing token is 1 to 9223372036854775807, not {token}")]
    InvalidToken {
        /// The token.
        token: u64,
    },
    /// The database lacks the fence, or the caller may not see it: see [`install`](crate::install).
    #[error("the fence is not installed (`tenure fence-sql` prints what to execute): {0}")]
    NotInstalled(#[source] sqlx::Error),
    /// Whatever else the database or the connection to it reports.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}
