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
pub use machine::{be_alone, is_alone};
pub use wall_clock::WallClock;

use crate::stage::Stage;

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Fault {
    /// A server is killed, and started again.
    ServerKilled,
    /// A server stands still.
    ServerFrozen,
    /// A server drains and ends, and is started again.
    ServerRestarted,
    /// A client is killed, and another takes its place.
    ClientKilled,
    /// A client stands still.
    ClientFrozen,
    /// The database is killed, and started again.
    DatabaseKilled,
    /// The database is stopped and started.
    DatabaseRestarted,
    /// The database stands still.
    DatabaseFrozen,
    /// The pooler is killed, and started again.
    PoolerKilled,
    /// The pooler stands still.
    PoolerFrozen,
    /// The balancer is killed, and started again.
    BalancerKilled,
    /// The balancer stands still.
    BalancerFrozen,
    /// Connections of clients are cut.
    ClientsCut,
    /// A server takes no connections of clients.
    ClientsRefused,
    /// What clients and a server say to each other takes long.
    ClientsDelayed,
    /// What clients say to a server passes slowly.
    ClientsThrottled,
    /// A server does not hear clients.
    ClientsUnheard,
    /// Clients do not hear a server.
    ServerUnheard,
    /// The other servers do not reach a server.
    PeersCut,
    /// What other servers say to a server stays away.
    PeersUnheard,
    /// A server's connections to the database are cut.
    StoreCut,
    /// A server gets no connection to the database.
    StoreRefused,
    /// A server's way to the database takes long.
    StoreDelayed,
    /// A server's way to the database is narrow.
    StoreThrottled,
    /// What a server asks of the database stays away.
    StoreUnheard,
    /// What the database answers stays away.
    AnswersLost,
    /// Packets of clients to a server are dropped.
    ClientPacketsLost,
    /// Packets of a server to the database, or back, are dropped.
    StorePacketsLost,
    /// What servers have under way in the database is cancelled, over and over.
    StatementsCancelled,
    /// The database ends the servers' connections, over and over.
    BackendsTerminated,
    /// Somebody has the head's row locked.
    HeadLocked,
    /// Commits take long.
    CommitsSlow,
    /// The database's disk is full.
    DiskFull,
    /// A wall clock is moved.
    WallClockStepped,
    /// The processors are busy.
    ProcessorsBusy,
}

impl Fault {
    /// The faults that are possible in this environment.
    #[must_use]
    pub fn possible(stage: &Stage) -> Vec<Self> {
        let can = |fault: &Self| match fault {
            Self::PoolerKilled | Self::PoolerFrozen => stage.pooler.is_some(),
            Self::CommitsSlow => stage.url.starts_with("postgres"),
            Self::DiskFull => stage.disk.is_some(),
            Self::WallClockStepped => !stage.clocks.is_empty(),
            Self::ClientPacketsLost | Self::StorePacketsLost => is_alone(),
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
    pub async fn strike(self, stage: Arc<Stage>, mut rng: StdRng, lasts: Duration) -> anyhow::Result<bool> {
        let (stage, rng) = (&*stage, &mut rng);
        match self {
            Self::ServerKilled | Self::ServerFrozen | Self::ServerRestarted => {
                processes::server(self, stage, rng, lasts).await
            }
            Self::ClientKilled | Self::ClientFrozen => processes::client(self, stage, rng, lasts).await,
            Self::DatabaseKilled | Self::DatabaseRestarted | Self::DatabaseFrozen => {
                processes::database(self, stage, lasts).await
            }
            Self::PoolerKilled | Self::PoolerFrozen => processes::pooler(self, stage, lasts).await,
            Self::BalancerKilled | Self::BalancerFrozen => processes::balancer(self, stage, lasts).await,
            Self::ClientPacketsLost | Self::StorePacketsLost => machine::lose_packets(self, stage, rng, lasts).await,
            Self::StatementsCancelled | Self::BackendsTerminated | Self::HeadLocked | Self::CommitsSlow => {
                statements::disturb(self, stage, rng, lasts).await
            }
            Self::DiskFull => disk::fill(stage, lasts).await,
            Self::WallClockStepped => wall_clock::step(stage, rng, lasts).await,
            Self::ProcessorsBusy => machine::busy(stage, lasts).await,
            _ => network::trouble(self, stage, rng, lasts).await,
        }
    }
}
