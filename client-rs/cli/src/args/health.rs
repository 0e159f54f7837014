//! The arguments of the health check of CMD, named as in Docker's HEALTHCHECK.

use std::time::Duration;

use clap::Args;

use super::values;

/// When the hold is renewed only while CMD is healthy.
#[derive(Debug, Args)]
#[command(next_help_heading = "Health")]
pub struct HealthArgs {
    /// Keep the hold only while this command of the shell succeeds; it runs every so often while CMD does
    #[arg(long, value_name = "CHECK", value_parser = values::shell_command)]
    pub health_cmd: Option<String>,
    /// The time from one check's start to the next one's, and from CMD's start to the first: 50ms to 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_duration, default_value = "5s",
          requires = "health_cmd")]
    pub health_interval: Duration,
    /// A check that takes longer is killed, and has failed: 50ms to 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_duration, default_value = "5s",
          requires = "health_cmd")]
    pub health_timeout: Duration,
    /// After so many failures in a row the hold is not renewed, until a check succeeds: 1 or more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3,
          requires = "health_cmd")]
    pub health_retries: u32,
    /// Failures in this time after CMD's start do not count, unless a check has succeeded before: at most 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_delay, default_value = "0",
          requires = "health_cmd")]
    pub health_start_period: Duration,
}
