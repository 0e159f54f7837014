//! Wall-clock faults: the wall clocks of processes are moved, while the machine's clock is unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use crate::deployment::Deployment;

/// The parent folder of the library that moves the clocks; its subfolder depends on the architecture.
const LIBRARIES: &str = "/usr/lib";
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// The maximum step, in seconds.
const MAX_STEP: i64 = 3_600;

/// A wall clock.
#[derive(Debug)]
pub struct WallClock {
    file: PathBuf,
    library: PathBuf,
}

impl WallClock {
    /// Creates two of them, if the library that moves them is installed.
    ///
    /// # Errors
    /// If their files cannot be written.
    pub fn two(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let kinds = fs::read_dir(LIBRARIES).into_iter().flatten().flatten();
        let Some(library) = kinds.map(|kind| kind.path().join(LIBRARY)).find(|library| library.exists()) else {
            return Ok(Vec::new());
        };
        let one = |number| {
            let clock = Self { file: folder.join(format!("clock-{number}")), library: library.clone() };
            clock.set(0)?;
            Ok(clock)
        };
        (0..2).map(one).collect()
    }

    /// The environment of a process that uses this clock.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let variables = [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.display().to_string()),
            ("FAKETIME_CACHE_DURATION", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn set(&self, seconds: i64) -> anyhow::Result<()> {
        // Replaced atomically: a half-written file would mean a different time.
        let fresh = self.file.with_extension("new");
        fs::write(&fresh, format!("{seconds:+}s\n")).context("setting a clock")?;
        fs::rename(fresh, &self.file).context("setting a clock")
    }
}

pub(super) async fn step(deployment: &Deployment, rng: &mut StdRng, lasts: Duration) -> anyhow::Result<bool> {
    let Ok(clock) = deployment.clocks[rng.random_range(0..deployment.clocks.len())].try_lock() else {
        return Ok(false);
    };
    clock.set(rng.random_range(-MAX_STEP..=MAX_STEP))?;
    sleep(lasts).await;
    clock.set(if rng.random() { 0 } else { rng.random_range(-MAX_STEP..=MAX_STEP) })?;
    Ok(true)
}
