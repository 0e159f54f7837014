//! The details of a rejection.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// A rejection, as programs read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The code.
    pub code: Code,
    /// The reason in `google.rpc.ErrorInfo`.
    pub reason: String,
    /// The metadata of that `ErrorInfo`.
    pub facts: HashMap<String, String>,
    /// The error message.
    pub message: String,
}

impl Rejection {
    /// A metadata value; empty if it is missing.
    #[must_use]
    pub fn fact(&self, name: &str) -> &str {
        self.facts.get(name).map_or("", String::as_str)
    }
}

impl From<&Status> for Rejection {
    fn from(status: &Status) -> Self {
        let info = status.get_error_details().error_info().cloned();
        let (reason, facts) = info.map(|info| (info.reason, info.metadata)).unwrap_or_default();
        Self { code: status.code(), reason, facts, message: status.message().to_owned() }
    }
}

/// The rejection of a call that must be rejected.
///
/// # Panics
/// If it was not.
pub fn rejection<T: std::fmt::Debug>(result: Result<T, Status>) -> Rejection {
    match result {
        Ok(reply) => panic!("the call was not rejected: {reply:?}"),
        Err(status) => Rejection::from(&status),
    }
}
