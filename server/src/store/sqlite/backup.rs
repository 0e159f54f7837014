//! Copies of a SQLite file, and the way back.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::file::{RESTORING, beside, take_possession};
use super::statements::STATEMENTS;
use crate::store::sql::{OpenError, StoreOptions};

/// What is added to the names of the files that SQLite keeps beside a database.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// How many replaced files are kept.
const KEPT: u32 = 1000;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store is no file.
    #[error("only SQLite is backed up in this way: use the tools of your database, such as pg_dump or mariadb-dump")]
    NotSqlite,
    /// Something is there already.
    #[error("{0} is there already")]
    Exists(PathBuf),
    /// The file is no database of Tenure, or a broken one.
    #[error("{0} is of no use: {1}")]
    Unusable(PathBuf, String),
    /// Another process has the file, or it cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// As the operating system has it.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
}

fn sqlite_file(options: &StoreOptions) -> Result<PathBuf, BackupError> {
    options.sqlite_file()?.ok_or(BackupError::NotSqlite)
}

/// Opens a file that is there.
async fn open(file: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new().filename(file).disable_statement_logging().connect().await
}

/// Copies a database as of one moment, whoever uses it meanwhile. The copy is one to which servers do not go on where it ends.
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

/// Makes a change of names in a folder last.
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

/// Copies the SQLite file of a server, which may be running, to a new file. Who starts a server on that file, wherever, gets higher
/// tokens than were ever given.
///
/// # Errors
/// See [`BackupError`]. Nothing is at `to` then.
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

/// Puts a copy, made by [`back_up`] or in any other way, in the place of a server's SQLite file. What was there is kept beside it;
/// returns where. If it does not come to its end, no server starts on the file until it does.
///
/// # Errors
/// See [`BackupError`]. As long as the copy is not known to be good, nothing is changed.
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

/// A name for what is replaced, that nothing has yet.
fn free_name(file: &Path) -> Result<PathBuf, BackupError> {
    let mut names = (1..=KEPT).map(|number| beside(file, &format!(".replaced-{number}")));
    names.find(|name| !name.exists()).ok_or_else(|| BackupError::Exists(beside(file, &format!(".replaced-{KEPT}"))))
}
