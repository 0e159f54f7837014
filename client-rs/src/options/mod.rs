//! How to reach the service, and how to open sessions and watches.

mod client;
mod session;
mod watch;

pub use self::client::ClientOptions;
pub use self::session::SessionOptions;
pub use self::watch::WatchOptions;
