//! Models the database: the log of one namespace, the servers' heartbeats, and the appends in progress. It stands for
//! the contract of every store in `server/src/store`.

use crate::flaw::Flaw;
use crate::table::{Event, Node, Recorded, Revision, Table};

/// The events of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Batch {
    pub previous: Revision,
    pub node: Node,
    pub number: u8,
    pub events: Vec<Recorded>,
}

impl Batch {
    /// The revision after the batch.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.events.last().map_or(self.previous, |last| last.revision)
    }

    fn declares_loss(&self) -> bool {
        self.events.iter().any(|recorded| recorded.event == Event::HistoryLost)
    }
}

/// A node's row in the table of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct ServerRecord {
    pub heartbeat: u8,
    pub dead: bool,
}

/// The database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The committed batches.
    pub log: Vec<Batch>,
    /// The table at the log's head.
    pub head: Table,
    /// Whether this is the database on which the head was written.
    pub intact: bool,
    /// Number of failovers so far.
    pub failovers: u8,
    /// The nodes, in the order in which they registered.
    pub server_records: Vec<ServerRecord>,
    /// The append in progress of each node.
    pub in_progress: Vec<Option<Batch>>,
}

impl Store {
    /// A new database.
    #[must_use]
    pub fn new(clients: u8) -> Self {
        let (log, server_records, in_progress) = (Vec::new(), Vec::new(), Vec::new());
        Self { log, head: Table::new(clients), intact: true, failovers: 0, server_records, in_progress }
    }

    /// Registers a node by its first heartbeat.
    pub fn register(&mut self) -> Node {
        self.server_records.push(ServerRecord { heartbeat: 1, dead: false });
        self.in_progress.push(None);
        (self.server_records.len() - 1) as Node
    }

    /// Appends a batch if the log is at the batch's previous revision and this is the database on which the head was
    /// written. Returns whether the batch was committed.
    pub fn append(&mut self, batch: &Batch, flaw: Option<Flaw>) -> bool {
        let fits = self.head.revision == batch.previous && (self.intact || batch.declares_loss());
        if !fits && flaw != Some(Flaw::AppendWithoutCondition) {
            return false;
        }
        self.intact |= batch.declares_loss();
        batch.events.iter().for_each(|recorded| self.head.apply(recorded));
        self.log.push(batch.clone());
        true
    }

    /// Whether a batch is in the log.
    #[must_use]
    pub fn has(&self, node: Node, number: u8) -> bool {
        self.log.iter().any(|batch| (batch.node, batch.number) == (node, number))
    }

    /// Fails over to another database, which lacks the last batches. Appends in progress are lost with their
    /// connections.
    pub fn fail_over(&mut self, lost: usize) -> Vec<Batch> {
        let gone = self.log.split_off(self.log.len() - lost);
        let mut head = Table::new(self.head.sessions.len() as u8);
        self.log.iter().flat_map(|batch| &batch.events).for_each(|recorded| head.apply(recorded));
        self.head = head;
        self.intact = false;
        self.failovers += 1;
        self.in_progress.iter_mut().for_each(|batch| *batch = None);
        gone
    }

    /// The database clock as a revision: higher than any revision that can be reached between two failovers.
    #[must_use]
    pub fn clock(&self) -> Revision {
        self.failovers * 64
    }
}
