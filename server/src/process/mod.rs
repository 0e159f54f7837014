//! The server's process: signals, reloading, the service manager, logging, and man pages.

pub mod healthcheck;
pub mod logging;
pub mod manual;
mod metrics;
pub(crate) mod reload;
pub mod signals;
pub mod systemd;
pub mod watchdog;
