//! How to reach the service, and how to open sessions.

mod client;
mod security;
mod session;

pub use self::client::ClientOptions;
pub use self::security::{Secret, Security};
pub use self::session::SessionOptions;
pub(crate) use self::session::session_setters;
