//! How a database is started.

use std::path::PathBuf;

/// How a database is started.
#[derive(Clone, Debug, Default)]
pub struct DatabaseOptions {
    /// Settings: such as `fsync=on` for PostgreSQL, `--sync-binlog=1` for MariaDB.
    pub settings: Vec<String>,
    /// More environment.
    pub environment: Vec<(String, String)>,
    /// In which folder it gets one of its own. Default: where temporary files are.
    pub parent: Option<PathBuf>,
}

impl DatabaseOptions {
    /// With these settings.
    #[must_use]
    pub fn settings(settings: &[&str]) -> Self {
        Self { settings: settings.iter().map(|setting| (*setting).to_owned()).collect(), ..Self::default() }
    }

    /// In which folder it gets one of its own.
    pub(crate) fn parent(&self) -> PathBuf {
        self.parent.clone().unwrap_or_else(std::env::temp_dir)
    }
}
