//! Reports: a committed batch, as a follower hears of it.

use std::fmt;
use std::sync::Arc;

use tenure_core::{Revision, Table};

use crate::store::Batch;

/// A batch that a server has committed.
#[derive(Clone, Debug)]
pub enum Report {
    /// As it is in the log.
    Whole(Arc<Batch>),
    /// In a form that refers to what the table before it shows.
    Packed(Arc<dyn Packed>),
}

/// A batch in a form that refers to what the table before it shows.
pub trait Packed: fmt::Debug + Send + Sync {
    /// The namespace's revision before.
    fn previous(&self) -> Revision;

    /// The namespace's revision after it.
    fn revision(&self) -> Revision;

    /// The batch as it is in the log, with a table that stands before it.
    ///
    /// # Errors
    /// If it refers to what is not there.
    fn unpack(&self, table: &Table) -> Result<Batch, String>;
}

impl Report {
    /// The namespace's revision after the batch.
    pub(super) fn revision(&self) -> Revision {
        match self {
            Self::Whole(batch) => batch.revision(),
            Self::Packed(packed) => packed.revision(),
        }
    }

    /// The batch, if it goes on where the table stands and can be followed event by event.
    pub(super) fn batch_after(&self, table: &Table) -> Option<Arc<Batch>> {
        let revision = table.revision();
        match self {
            Self::Whole(batch) => {
                Some(batch.clone()).filter(|batch| batch.previous == revision && !batch.declares_loss())
            }
            Self::Packed(packed) if packed.previous() == revision => match packed.unpack(table) {
                Ok(batch) => Some(Arc::new(batch)),
                Err(reason) => {
                    tracing::warn!(reason, "another server reports a batch that does not match this server's log");
                    None
                }
            },
            Self::Packed(_) => None,
        }
    }
}
