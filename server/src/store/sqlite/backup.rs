//! Backup and restore of a SQLite file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::file::{RESTORING, beside, take_possession};
use super::statements::STATEMENTS;
use crate::store::sql::{OpenError, StoreOptions, Target};

/// Suffixes of the files that SQLite keeps beside a database.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Maximum number of replaced files that are kept.
const KEPT: u32 = 1000;

/// Why a backup or restore failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store is not a file.
    #[error("only SQLite is supported: use the database's own tools, such as pg_dump or mariadb-dump")]
    NotSqlite,
    /// The target exists already.
    #[error("{0} already exists")]
    Exists(PathBuf),
    /// The file is not a database of Tenure, or is corrupt.
    #[error("invalid database {0}: {1}")]
    Unusable(PathBuf, String),
    /// Another process owns the file, or it cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The operating system reported an error.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
}

fn sqlite_file(options: &StoreOptions) -> Result<PathBuf, BackupError> {
    match options.target()? {
        Target::Sqlite(file) => Ok(file),
        Target::Postgres(_) | Target::MySql(_) => Err(BackupError::NotSqlite),
    }
}

/// Opens an existing file.
async fn open(file: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new().filename(file).disable_statement_logging().connect().await
}

/// Copies a database as of one moment, even while it is in use. The copy's identity is reset, so that servers do not
/// continue where it ends.
async fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let unusable = |error: sqlx::Error| BackupError::Unusable(from.to_owned(), error.to_string());
    let mut source = open(from).await.map_err(unusable)?;
    let state: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut source).await.map_err(unusable)?;
    if state != "ok" {
        return Err(BackupError::Unusable(from.to_owned(), state));
    }
    let into = to.display().to_string();
    sqlx::query("VACUUM INTO ?").bind(into).execute(&mut source).await.map_err(unusable)?;
    source.close().await.map_err(unusable)?;
    let mut copy = open(to).await.map_err(unusable)?;
    for reset_identity in [STATEMENTS.reset_heads, STATEMENTS.reset_created_since] {
        sqlx::query(reset_identity).execute(&mut copy).await.map_err(unusable)?;
    }
    copy.close().await.map_err(unusable)?;
    let failed = |error| BackupError::File(to.to_owned(), error);
    File::open(to).and_then(|file| file.sync_all()).map_err(failed)
}

/// Makes a rename in the file's folder durable.
fn sync_folder_of(file: &Path) -> Result<(), BackupError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| BackupError::File(folder.to_owned(), error))
}

fn remove_if_there(file: &Path) -> Result<(), BackupError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::File(file.to_owned(), error)),
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), BackupError> {
    fs::rename(from, to).map_err(|error| BackupError::File(from.to_owned(), error))
}

/// Copies the SQLite file of a server, which may be running, to a new file. A server that is started on that file, on
/// any machine, grants higher tokens than were ever granted.
///
/// # Errors
/// See [`BackupError`]. On error, `to` does not exist.
pub async fn back_up(options: &StoreOptions, to: &Path) -> Result<(), BackupError> {
    let from = sqlite_file(options)?;
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let part = beside(to, ".part");
    remove_if_there(&part)?;
    if let Err(error) = copy(&from, &part).await {
        remove_if_there(&part)?;
        return Err(error);
    }
    rename(&part, to)?;
    sync_folder_of(to)
}

/// Replaces a server's SQLite file by a copy, made by [`back_up`] or in any other way. The replaced file is kept beside
/// it; returns its path. If a restore does not complete, no server starts on the file until one does.
///
/// # Errors
/// See [`BackupError`]. Nothing is changed until the copy is known to be good.
pub async fn restore(options: &StoreOptions, from: &Path) -> Result<Option<PathBuf>, BackupError> {
    let to = sqlite_file(options)?;
    let _own = take_possession(&to)?;
    let half = beside(&to, RESTORING);
    remove_if_there(&half)?;
    if let Err(error) = copy(from, &half).await {
        remove_if_there(&half)?;
        return Err(error);
    }
    sync_folder_of(&to)?;
    let replaced = to.exists().then(|| free_name(&to)).transpose()?;
    if let Some(replaced) = &replaced {
        for companion in COMPANIONS.into_iter().filter(|companion| beside(&to, companion).exists()) {
            rename(&beside(&to, companion), &beside(replaced, companion))?;
        }
        rename(&to, replaced)?;
    }
    rename(&half, &to)?;
    sync_folder_of(&to)?;
    Ok(replaced)
}

/// An unused name for the replaced file.
fn free_name(file: &Path) -> Result<PathBuf, BackupError> {
    let mut names = (1..=KEPT).map(|number| beside(file, &format!(".replaced-{number}")));
    names.find(|name| !name.exists()).ok_or_else(|| BackupError::Exists(beside(file, &format!(".replaced-{KEPT}"))))
}
