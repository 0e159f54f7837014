//! Backup and restore of a SQLite file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::file::{RESTORING, beside, take_possession};
use super::statements::STATEMENTS;
use crate::store::sql::{StoreOptions, Target};

/// Suffixes of the files that SQLite keeps beside a database.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Maximum number of replaced files that are kept.
const KEPT: u32 = 1000;

fn sqlite_file(options: &StoreOptions) -> anyhow::Result<PathBuf> {
    match options.target()? {
        Target::Sqlite(file) => Ok(file),
        Target::Postgres(_) | Target::MySql(_) => {
            bail!("only SQLite is supported: use the database's own tools, such as pg_dump or mariadb-dump")
        }
    }
}

/// Opens an existing file.
async fn open(file: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new().filename(file).disable_statement_logging().connect().await
}

/// Copies a database as of one moment, even while it is in use. The copy's identity is reset, so that servers do not
/// continue where it ends.
async fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let unusable = |error: sqlx::Error| anyhow!("invalid database {}: {error}", from.display());
    let mut source = open(from).await.map_err(unusable)?;
    let state: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut source).await.map_err(unusable)?;
    if state != "ok" {
        bail!("invalid database {}: {state}", from.display());
    }
    let into = to.display().to_string();
    sqlx::query("VACUUM INTO ?").bind(into).execute(&mut source).await.map_err(unusable)?;
    source.close().await.map_err(unusable)?;
    let mut copy = open(to).await.map_err(unusable)?;
    for reset_identity in [STATEMENTS.reset_heads, STATEMENTS.reset_created_since] {
        sqlx::query(reset_identity).execute(&mut copy).await.map_err(unusable)?;
    }
    copy.close().await.map_err(unusable)?;
    File::open(to).and_then(|file| file.sync_all()).with_context(|| to.display().to_string())
}

/// Makes a rename in the file's folder durable.
fn sync_folder_of(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(|| folder.display().to_string())
}

fn remove_if_there(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| file.display().to_string()),
    }
}

fn rename(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::rename(from, to).with_context(|| from.display().to_string())
}

/// Copies the SQLite file of a server, which may be running, to a new file. A server that is started on that file, on
/// any machine, grants higher tokens than were ever granted.
///
/// # Errors
/// If the store is not SQLite, its file or the new one cannot be used, or `to` exists; otherwise `to` does not exist
/// after an error.
pub async fn back_up(options: &StoreOptions, to: &Path) -> anyhow::Result<()> {
    let from = sqlite_file(options)?;
    if to.exists() {
        bail!("{} already exists", to.display());
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
/// If the store is not SQLite, a server uses its file, or one of the files cannot be used. Nothing is changed until the
/// copy is known to be good.
pub async fn restore(options: &StoreOptions, from: &Path) -> anyhow::Result<Option<PathBuf>> {
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
fn free_name(file: &Path) -> anyhow::Result<PathBuf> {
    let mut names = (1..=KEPT).map(|number| beside(file, &format!(".replaced-{number}")));
    names.find(|name| !name.exists()).with_context(|| format!("{}.replaced-{KEPT} already exists", file.display()))
}
