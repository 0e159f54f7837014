//! The folder with the files of a run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;
use tenure_checker::Past;

use crate::report::Report;

/// A folder that is kept if there was a violation.
#[derive(Debug)]
pub struct RunFolder(TempDir);

impl RunFolder {
    /// Creates a folder that databases, which may run as other users, can traverse.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new() -> anyhow::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::Builder::new().prefix("tenure-chaos-").tempdir().context("making a folder")?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok(Self(folder))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Keeps the folder if there was a violation, together with the database's log and these logs; removes it
    /// otherwise.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_if_violated(
        &mut self,
        report: &mut Report,
        past: &Past,
        logs: &[(String, PathBuf)],
    ) -> anyhow::Result<()> {
        if report.violations.is_empty() {
            return Ok(());
        }
        self.0.disable_cleanup(true);
        let folder = self.path().to_owned();
        for (name, log) in logs {
            fs::copy(log, folder.join(format!("{name}.log"))).context("keeping a log")?;
        }
        let committed = past.committed().map(|(moment, recorded)| format!("{moment:?} {recorded:?}\n"));
        fs::write(folder.join("log.txt"), committed.collect::<String>())?;
        let violations: Vec<String> = report.violations.iter().map(|violation| format!("{violation}\n")).collect();
        fs::write(folder.join("violations.txt"), violations.concat())?;
        report.folder = Some(folder);
        Ok(())
    }
}
