//! Lower bound of pairs: the disk.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;

use super::ALONE;
use crate::cpu::Processes;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::work::{Candidate, Subject};

/// A turn writes 4 KiB into a file with allocated blocks, and syncs it.
pub fn candidate() -> Candidate {
    let start = async |_| {
        let folder = tempfile::Builder::new().prefix("tenure-").tempdir()?;
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(folder.path().join("file"))?;
        file.write_all_at(&vec![1; FILE], 0)?;
        file.sync_all()?;
        Ok(Disk { file: Arc::new(file), _folder: folder })
    };
    Candidate::new("fsync", start).only_at(ALONE)
}

/// The size of a segment of PostgreSQL's log, in bytes.
const FILE: usize = 16 << 20;
const BLOCK: usize = 4 << 10;

struct Disk {
    file: Arc<File>,
    _folder: TempDir,
}

#[async_trait]
impl Subject for Disk {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let users = vec![Writer { file: Arc::clone(&self.file), at: 0 }];
        Ok(closed_loop(load, &Processes::default(), users).await?.0)
    }
}

struct Writer {
    file: Arc<File>,
    at: usize,
}

impl User for Writer {
    async fn turn(&mut self) -> anyhow::Result<()> {
        self.at = (self.at + BLOCK) % FILE;
        tokio::task::block_in_place(|| {
            self.file.write_all_at(&[2; BLOCK], self.at as u64)?;
            self.file.sync_data()
        })?;
        Ok(())
    }
}
