//! What makes a process of the server: signals and files to reload, the service manager, the log, and the pages of the manual.

pub mod healthcheck;
pub mod logging;
pub mod manual;
mod metrics;
pub(crate) mod reload;
pub mod systemd;
pub mod watchdog;
