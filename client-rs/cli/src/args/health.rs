//! The arguments of the health check of CMD, named as in Docker's HEALTHCHECK.

use std::time::Duration;

use clap::Args;

use super::values;

/// The options of the health check, which stops renewals while CMD is unhealthy.
#[derive(Debug, Args)]
#[command(next_help_heading = "Health")]
pub struct HealthArgs {
    /// Renew the hold only while this shell command succeeds; it runs periodically beside CMD
    #[arg(long, value_name = "CHECK", value_parser = values::shell_command)]
    pub health_cmd: Option<String>,
    /// The time between the starts of two checks, and from CMD's start to the first: 50ms to 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_duration, default_value = "5s",
          requires = "health_cmd")]
    pub health_interval: Duration,
    /// The maximum duration of a check; a longer one is killed and counts as failed: 50ms to 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_duration, default_value = "5s",
          requires = "health_cmd")]
    pub health_timeout: Duration,
    /// The number of consecutive failures after which the hold is not renewed until a check succeeds: 1 or more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3,
          requires = "health_cmd")]
    pub health_retries: u32,
    /// The time after CMD's start in which failures do not count, unless a check has succeeded before: at most 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_delay, default_value = "0",
          requires = "health_cmd")]
    pub health_start_period: Duration,
}
