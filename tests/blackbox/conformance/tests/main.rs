//! The stores' tests in one binary: each further one would link the whole server again, and start the databases again.

/// Makes a test of each scenario (an async function, generic over a `Flavour`) on MariaDB and on MySQL.
macro_rules! on_mariadb_and_mysql {
    ($($scenario:ident),+ $(,)?) => {
        $(mod $scenario {
            #[tokio::test]
            async fn on_mariadb() {
                super::$scenario::<tenure_harness::MariaDbPrograms>().await;
            }

            #[tokio::test]
            async fn on_mysql() {
                super::$scenario::<tenure_harness::MySqlPrograms>().await;
            }
        })+
    };
}

mod frozen;
mod hidden_identity;
mod interrupted;
mod limits;
mod memory;
mod mysql;
mod opening;
mod postgres;
mod proxy;
mod recovery;
mod sqlite;
