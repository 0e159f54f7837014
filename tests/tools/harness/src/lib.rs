//! Throw-away databases and Tenure servers for tests: real processes in temporary folders, on free ports, which tests
//! start, stop, kill, freeze and restart. They end with the test process, however that ends.
//!
//! A test that only needs *a* database creates one of its own in the instance that all tests of the process share:
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! let url = tenure_harness::Postgres::shared().await?.create_database().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A test that stops or kills its database starts one for itself, with [`Postgres::start`].

mod authority;
mod database;
mod environment;
mod etcd;
mod folder;
mod galera;
mod group_replication;
mod mariadb;
mod mysql;
mod mysql_router;
mod mysql_server;
mod patroni;
mod pgbouncer;
mod port;
mod postgres;
mod postgres_standby;
mod process;
mod program;
mod served;
mod small_disk;
mod tenured;
mod unpacked;
mod verdict;
mod wait;
mod yardstick;

pub use authority::{Authority, Certified};
pub use database::DatabaseOptions;
pub use environment::settings;
pub use galera::{Galera, PausedReplication};
pub use group_replication::GroupReplication;
pub use mariadb::{MariaDb, MariaDbPrograms};
pub use mysql::{MySql, MySqlPrograms};
pub use mysql_router::MySqlRouter;
pub use mysql_server::{Client, Flavour, MySqlServer};
pub use patroni::{Patroni, PatroniPorts};
pub use pgbouncer::PgBouncer;
pub use port::free as free_port;
pub use postgres::Postgres;
pub use process::{Process, freeze_group, freeze_process};
pub use program::{built, find};
pub use served::Served;
pub use small_disk::SmallDisk;
pub use tenured::{Tenured, TenuredOptions};
pub use unpacked::Unpacked;
pub use verdict::assert_success;
pub use wait::wait_until;
pub use yardstick::Yardstick;
