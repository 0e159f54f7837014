//! Shared by the tests of real Tenure processes: the stores that they run on, plain calls, and the details of
//! rejections.

mod calls;
mod command_line;
mod contest;
mod database_proxy;
mod instance;
mod rejection;
mod relay;
pub mod snippets;
mod store;
mod timeline;
mod user_database;
mod writer;

use std::time::Duration;

pub use calls::{Calls, seconds};
pub use command_line::{CommandLine, Watcher};
pub use contest::{Contest, LOCK};
pub use database_proxy::DatabaseProxy;
pub use instance::Instance;
pub use rejection::{Rejection, rejection};
pub use relay::Relay;
pub use store::Store;
pub use timeline::{Action, Entry, clock, report};
pub use user_database::UserDatabase;
pub use writer::{Fencing, Writer};

/// The number of attempts of a scenario with randomness: `TENURE_E2E_TRIES`, or a few.
#[must_use]
pub fn tries() -> u32 {
    std::env::var("TENURE_E2E_TRIES").ok().and_then(|tries| tries.parse().ok()).unwrap_or(5)
}

/// The number of attempts of a long scenario: half as many.
#[must_use]
pub fn few_tries() -> u32 {
    tries().div_ceil(2)
}

/// The tolerance by which an event may seem to be early.
const MARGIN: Duration = Duration::from_millis(50);

/// The delay with which an event may be recorded on a busy machine.
const RECORDING: Duration = Duration::from_millis(250);

/// Asserts that events due after `due` did not happen earlier, within the precision of the measurement.
pub fn assert_not_early(times: &[Duration], due: Duration) {
    let early = times.iter().filter(|time| **time + MARGIN < due).count();
    let shortest = times.iter().min().copied().unwrap_or_default();
    assert!(early <= times.len().div_ceil(5) && shortest + RECORDING >= due, "too early: {times:?}, due after {due:?}");
}

/// Makes a test of each scenario (an async function of a [`Store`]) on each store.
#[macro_export]
macro_rules! on_every_store {
    ($($scenario:ident),+ $(,)?) => {
        $(mod $scenario {
            use $crate::Store;

            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                super::$scenario(Store::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgres() {
                super::$scenario(Store::Postgres).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_mariadb() {
                super::$scenario(Store::MariaDb).await;
            }
        })+
    };
}
