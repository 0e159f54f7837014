//! Several hosts that may be the database: the one that takes writes is found by asking.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use super::connection::{Connection, Connector, Failure};

/// A host: its name and port, for people, and the way to it.
pub(super) type Host<C> = (String, C);

/// The hosts of a database.
pub(super) struct Hosts<C> {
    hosts: Vec<Host<C>>,
    /// The one that was found last: the first to ask again.
    last: AtomicUsize,
}

impl<C> Hosts<C> {
    pub(super) fn new(hosts: Vec<Host<C>>) -> Self {
        Self { hosts, last: AtomicUsize::new(0) }
    }

    /// The one that was found last.
    pub(super) fn last(&self) -> Option<&C> {
        self.hosts.get(self.last.load(Ordering::SeqCst)).map(|(_, host)| host)
    }
}

#[async_trait]
impl<C: Connector> Connector for Hosts<C> {
    async fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        let first = self.last.load(Ordering::SeqCst);
        let mut reasons = Vec::new();
        for offset in 0..self.hosts.len() {
            let index = (first + offset) % self.hosts.len();
            let (name, host) = &self.hosts[index];
            match host.connect().await {
                Ok(connection) => {
                    self.last.store(index, Ordering::SeqCst);
                    return Ok(connection);
                }
                Err(Failure::Unsafe(reason)) => return Err(Failure::Unsafe(format!("{name}: {reason}"))),
                Err(failure) => reasons.push(format!("{name}: {}", failure.reason())),
            }
        }
        Err(Failure::Refused(reasons.join("; ")))
    }
}
