//! A separate disk for the database, which can be filled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use tokio::time::sleep;

use crate::database::Database;
use crate::deployment::Deployment;

/// Its size. Unused space costs nothing.
const SIZE: u64 = 4 << 30;

/// The smallest amount allocated at a time when filling it.
const MIN_PIECE: u64 = 4 << 10;

/// A file system in a file.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Creates and mounts one in a file of this folder, if permitted.
    ///
    /// # Errors
    /// If its file cannot be created.
    pub fn mount(within: &Path) -> anyhow::Result<Option<Self>> {
        let (image, folder) = (within.join("disk.img"), within.join("disk"));
        File::create(&image).and_then(|file| file.set_len(SIZE)).context("making a disk's file")?;
        fs::create_dir(&folder).context("making a disk's folder")?;
        let runs = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let made = runs(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(&image))
            && runs(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&folder))
            && runs(Command::new("chmod").arg("777").arg(&folder));
        Ok(made.then_some(Self { folder }))
    }

    /// Its mount point.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Allocates all free space.
    fn fill(&self) -> anyhow::Result<PathBuf> {
        let ballast = self.folder.join("ballast");
        let file = File::create(&ballast).context("making ballast")?;
        let mut length = 0;
        let mut piece = statvfs(&self.folder).map(|disk| disk.f_bavail * disk.f_frsize)?;
        while piece >= MIN_PIECE {
            match fallocate(&file, FallocateFlags::empty(), length, piece) {
                Ok(()) => length += piece,
                Err(_) => piece /= 2,
            }
        }
        Ok(ballast)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A lazy unmount: it completes when the last open file is closed.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

pub(super) async fn fill(deployment: &Deployment, lasts: Duration) -> anyhow::Result<bool> {
    let Some(Ok(disk)) = deployment.disk.as_ref().map(|disk| disk.try_lock()) else { return Ok(false) };
    let Ok(mut database) = deployment.database.try_lock() else { return Ok(false) };
    let ballast = disk.fill()?;
    sleep(lasts).await;
    fs::remove_file(ballast).context("removing ballast")?;
    // It may have exited. MySQL looks for space once a minute only, and commits nothing until then.
    if !database.is_running() || matches!(*database, Database::MySql(_)) {
        database.kill().await?;
        database.start_again().await?;
    }
    Ok(true)
}
