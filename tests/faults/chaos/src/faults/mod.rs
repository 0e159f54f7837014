//! The faults of a chaos run.

mod balancer;
mod disk;
mod machine;
mod network;
mod processes;
mod statements;
mod wall_clock;

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use rand::rngs::StdRng;

pub use balancer::balancer;
pub use disk::Disk;
pub use machine::{enter_own_namespaces, has_own_namespaces, isolate, reconnect};
pub use wall_clock::WallClock;

use crate::deployment::Deployment;

/// A fault, which lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Fault {
    /// A server is killed and restarted.
    ServerKilled,
    /// A server is frozen.
    ServerFrozen,
    /// A server drains, exits, and is restarted.
    ServerRestarted,
    /// A client is killed, and another replaces it.
    ClientKilled,
    /// A client is frozen.
    ClientFrozen,
    /// The database is killed and restarted.
    DatabaseKilled,
    /// The database is stopped and started.
    DatabaseRestarted,
    /// The database is frozen.
    DatabaseFrozen,
    /// The pooler is killed and restarted.
    PoolerKilled,
    /// The pooler is frozen.
    PoolerFrozen,
    /// The balancer is killed and restarted.
    BalancerKilled,
    /// The balancer is frozen.
    BalancerFrozen,
    /// Connections of clients are cut.
    ClientsCut,
    /// A server refuses connections of clients.
    ClientsRefused,
    /// Requests and responses between clients and a server are delayed.
    ClientsDelayed,
    /// The bandwidth between clients and a server is limited.
    ClientsThrottled,
    /// Requests of clients do not reach a server.
    ClientRequestsBlocked,
    /// Responses of a server do not reach its clients.
    ServerResponsesBlocked,
    /// Connections of other servers to a server are cut and refused.
    PeersCut,
    /// Requests of other servers do not reach a server.
    PeerRequestsBlocked,
    /// A server's connections to the database are cut.
    StoreCut,
    /// Connections of a server to the database are refused.
    StoreRefused,
    /// Requests and responses between a server and the database are delayed.
    StoreDelayed,
    /// The bandwidth between a server and the database is limited.
    StoreThrottled,
    /// Requests of a server do not reach the database.
    StoreRequestsBlocked,
    /// Responses of the database do not reach a server.
    StoreResponsesBlocked,
    /// Packets of clients to a server are dropped.
    ClientPacketsLost,
    /// Packets of a server to the database, or back, are dropped.
    StorePacketsLost,
    /// Statements of servers are cancelled repeatedly.
    StatementsCancelled,
    /// The database terminates the servers' connections repeatedly.
    BackendsTerminated,
    /// Another transaction locks the row of the head.
    HeadLocked,
    /// Commits are delayed.
    CommitsSlow,
    /// The database's disk is full.
    DiskFull,
    /// A wall clock is set to another time.
    WallClockStepped,
    /// The processors are busy.
    ProcessorsBusy,
}

impl Fault {
    /// The faults that are possible in this environment.
    #[must_use]
    pub fn possible(deployment: &Deployment) -> Vec<Self> {
        let can = |fault: &Self| match fault {
            Self::PoolerKilled | Self::PoolerFrozen => deployment.pooler.is_some(),
            Self::CommitsSlow => deployment.url.starts_with("postgres"),
            Self::DiskFull => deployment.disk.is_some(),
            Self::WallClockStepped => !deployment.clocks.is_empty(),
            Self::ClientPacketsLost | Self::StorePacketsLost => has_own_namespaces(),
            _ => true,
        };
        Self::value_variants().iter().copied().filter(can).collect()
    }

    /// Its display name.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Injects the fault for a while, and ends it. Returns false if its target is already affected by another fault.
    ///
    /// # Errors
    /// If the fault cannot be ended: the rest of the run then proves nothing.
    pub async fn inject(self, deployment: Arc<Deployment>, mut rng: StdRng, lasts: Duration) -> anyhow::Result<bool> {
        let (deployment, rng) = (&*deployment, &mut rng);
        match self {
            Self::ServerKilled | Self::ServerFrozen | Self::ServerRestarted => {
                processes::server(self, deployment, rng, lasts).await
            }
            Self::ClientKilled | Self::ClientFrozen => processes::client(self, deployment, rng, lasts).await,
            Self::DatabaseKilled | Self::DatabaseRestarted | Self::DatabaseFrozen => {
                processes::database(self, deployment, lasts).await
            }
            Self::PoolerKilled | Self::PoolerFrozen => processes::pooler(self, deployment, lasts).await,
            Self::BalancerKilled | Self::BalancerFrozen => processes::balancer(self, deployment, lasts).await,
            Self::ClientPacketsLost | Self::StorePacketsLost => {
                machine::lose_packets(self, deployment, rng, lasts).await
            }
            Self::StatementsCancelled | Self::BackendsTerminated | Self::HeadLocked | Self::CommitsSlow => {
                statements::disturb(self, deployment, rng, lasts).await
            }
            Self::DiskFull => disk::fill(deployment, lasts).await,
            Self::WallClockStepped => wall_clock::step(deployment, rng, lasts).await,
            Self::ProcessorsBusy => machine::busy(deployment, lasts).await,
            _ => network::inject(self, deployment, rng, lasts).await,
        }
    }
}
