//! A client in a process of its own, which holds a lock and prints when it renews itself, until it is killed.

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use prost::Message;
use rustix::time::{ClockId, clock_gettime};

use crate::target::etcd::messages::LeaseKeepAliveRequest;
use crate::target::etcd::{Connection, KEEP_ALIVE};
use crate::target::http2;
use crate::target::tenure::raw::{self, Raw};

/// The hidden argument that starts the bench's program as this client.
pub const ARGUMENT: &str = "hold";

/// What the lock is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// Tenure.
    Tenure,
    /// etcd.
    Etcd,
}

/// Who holds what.
#[derive(Args, Clone, Debug)]
pub struct Holder {
    /// What the lock is of
    pub service: Service,
    /// The port of its server
    pub port: u16,
    /// The lock
    pub name: String,
    /// How long it is held without a renewal, in milliseconds
    pub ttl: u64,
    /// How long it is held without its client, in milliseconds, if not for its TTL
    pub grace: Option<u64>,
}

impl Holder {
    /// Acquires the lock and holds it until something fails. Each line of its output is the time just before a renewal
    /// that has been sent; the first one means that it holds the lock.
    pub async fn hold(&self) -> anyhow::Result<()> {
        match self.service {
            Service::Tenure => self.hold_tenure().await,
            Service::Etcd => self.hold_etcd().await,
        }
    }

    async fn hold_tenure(&self) -> anyhow::Result<()> {
        let session = format!("holder-of-{}", self.name);
        let mut raw = Raw::open(self.port).await?;
        let stream = raw.begin(&format!("client-of-{session}"));
        let mut declaration = raw.session(&session, self.ttl(), self.grace.map(Duration::from_millis))?;
        declaration.claims.push(raw.claim(self.name.clone()));
        let renewed = now();
        let every = raw.declare([(stream, vec![declaration])]).await?;
        print_time(renewed)?;
        renew(raw.connection, stream, &raw::keep_alive(), every).await
    }

    async fn hold_etcd(&self) -> anyhow::Result<()> {
        let mut plain = Connection::open(self.port).await?;
        let renewed = now();
        let id = plain.grant_lease(self.ttl().as_secs() as i64).await?;
        plain.lock(&self.name, id).await?;
        print_time(renewed)?;
        let mut connection = http2::Connection::open(self.port).await?;
        let stream = connection.output().begin(KEEP_ALIVE);
        renew(connection, stream, &LeaseKeepAliveRequest { id }.encode_to_vec(), self.ttl() / 3).await
    }

    fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl)
    }
}

async fn renew(mut connection: http2::Connection, stream: u32, renewal: &[u8], every: Duration) -> anyhow::Result<()> {
    let mut tick = tokio::time::interval(every);
    loop {
        tokio::select! {
            _ = tick.tick() => {
                let renewed = now();
                connection.output().message(stream, renewal);
                connection.flush().await?;
                print_time(renewed)?;
            }
            received = connection.receive(|_, _, _| Ok(())) => received?,
        }
    }
}

/// Nanoseconds on the monotonic clock that all processes of a machine share.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn print_time(time: u64) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{time}").and_then(|()| out.flush()).context("the output has no reader")
}
