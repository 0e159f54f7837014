//! Options of databases.

use std::path::PathBuf;

/// How a database is started.
#[derive(Clone, Debug, Default)]
pub struct DatabaseOptions {
    /// Settings: such as `fsync=on` for PostgreSQL, `--sync-binlog=1` for MariaDB.
    pub settings: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
    /// The parent of its folder. Default: the folder for temporary files.
    pub parent: Option<PathBuf>,
}

impl DatabaseOptions {
    /// Options with these settings.
    #[must_use]
    pub fn settings(settings: &[&str]) -> Self {
        Self { settings: settings.iter().map(|setting| (*setting).to_owned()).collect(), ..Self::default() }
    }

    /// The parent of its folder.
    pub(crate) fn parent(&self) -> PathBuf {
        self.parent.clone().unwrap_or_else(std::env::temp_dir)
    }
}
