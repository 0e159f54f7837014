//! Migration of the tables and views. The scripts have the same numbers and names for every database. Each script
//! either can be run again, since MySQL does not roll back a partial one, or is rolled back as a whole (SQLite).
//!
//! A script that changes a table on MySQL or MariaDB specifies `ALGORITHM=COPY`: a MariaDB whose power fails right
//! after a change in place (`INSTANT`) may not start again (MDEV-37467). MySQL has no `ADD COLUMN IF NOT EXISTS`.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::connection::{Arg, Connection, Connector};
use super::options::OpenError;
use super::restore::{BOUND, notice_restore};
use super::scripts::Migration;

/// Number of attempts when several servers start at once and conflict, and the pause between attempts.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// The names of the tables and views that scripts create, in lower case.
fn names_made(scripts: &'static [Migration]) -> Vec<&'static str> {
    let mut names: Vec<&str> = scripts
        .iter()
        .flat_map(|migration| migration.script.lines())
        .filter(|line| line.starts_with("CREATE "))
        .filter_map(|line| line.trim_end_matches([' ', '(']).trim_end_matches(" AS").split(' ').next_back())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether the tables are Tenure's, complete or not: the table of migrations is created before all others, and only if
/// none of their names is taken. If one is, nothing may be changed: a table called `servers` may be an unrelated
/// inventory.
async fn is_begun(connection: &mut dyn Connection) -> Result<bool, OpenError> {
    let sql = connection.sql();
    if !connection.fetch(sql.migrations_exist, &[]).await?.is_empty() {
        return Ok(true);
    }
    let names = Value::from(names_made(sql.scripts)).to_string();
    let taken = connection.fetch(sql.relations, &[Arg::Text(&names)]).await?;
    if taken.is_empty() {
        return Ok(false);
    }
    // Another server may have begun in the meantime; it then created the table of migrations first.
    if !connection.fetch(sql.migrations_exist, &[]).await?.is_empty() {
        return Ok(true);
    }
    let taken: Vec<&str> = taken.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
    Err(OpenError::Foreign(taken.join(", "), sql.own_place))
}

/// The migrations that the database still needs. [`OpenError::Foreign`] if they cannot be applied there.
pub(crate) async fn pending(connection: &mut dyn Connection) -> Result<Vec<&'static Migration>, OpenError> {
    let begun = is_begun(connection).await?;
    let sql = connection.sql();
    let done: Vec<i64> = if !begun {
        Vec::new()
    } else {
        let found = connection.fetch(sql.migrations, &[]).await?;
        found.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?
    };
    Ok(sql.scripts.iter().filter(|migration| !done.contains(&migration.number)).collect())
}

async fn run(connection: &mut dyn Connection) -> Result<(), OpenError> {
    if pending(connection).await?.is_empty() {
        return Ok(notice_restore(connection).await?);
    }
    let sql = connection.sql();
    connection.script(sql.create_migrations).await?;
    connection.script(sql.begin).await?;
    connection.script(sql.lock_migrations).await?;
    for migration in pending(connection).await? {
        connection.script(migration.script).await?;
        let args = [Arg::Int(migration.number), Arg::Text(migration.name)];
        connection.execute(sql.record_migration, &args).await?;
    }
    connection.script("COMMIT").await?;
    if !sql.tune_tables.is_empty()
        && let Err(error) = connection.script(sql.tune_tables).await
    {
        tracing::info!(reason = error.reason(), "cannot tune the log table: keeping the database's defaults");
    }
    Ok(notice_restore(connection).await?)
}

/// Brings the tables and views of a database up to date, if they are not. Several servers may do so at once.
pub(crate) async fn migrate(connector: &dyn Connector) -> Result<(), OpenError> {
    let mut attempt = 1;
    loop {
        let mut connection = connector.connect().await?;
        let error = match timeout(BOUND, run(&mut *connection)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => return Err(OpenError::Unavailable(format!("the migrations took longer than {BOUND:?}"))),
        };
        if attempt == ATTEMPTS || matches!(error, OpenError::Foreign(..)) {
            return Err(error);
        }
        attempt += 1;
        drop(connection);
        sleep(PAUSE).await;
    }
}

/// Rejects a database that lacks some of the migrations.
pub(crate) async fn check_migrated(connection: &mut dyn Connection) -> Result<(), OpenError> {
    let missing = pending(connection).await?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(OpenError::NotMigrated(missing.iter().map(|migration| migration.to_string()).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::scripts::{MYSQL, POSTGRES, SQLITE};
    use super::*;

    #[test]
    fn names_made_are_all_tables_and_views() {
        let names = names_made(POSTGRES);
        assert_eq!(names.iter().filter(|name| name.starts_with("current_")).count(), 7, "{names:?}");
        assert!(
            ["batches", "events", "servers", "tenure_identity", "past_holds"].iter().all(|name| names.contains(name))
        );
        assert!(
            names.iter().all(|name| name.chars().all(|char| char.is_ascii_lowercase() || char == '_')),
            "{names:?}"
        );
        assert_eq!((names_made(MYSQL), names_made(SQLITE)), (names.clone(), names));
    }

    /// See `current_settings` in `0001_initial.sql`: error 1210.
    #[test]
    fn views_of_mysql_pass_nothing_from_one_json_table_to_another() {
        let views = MYSQL.iter().flat_map(|migration| migration.script.split("CREATE OR REPLACE VIEW ").skip(1));
        let newest: std::collections::BTreeMap<_, _> = views.filter_map(|view| view.split_once(" AS\n")).collect();
        assert!(newest.len() >= 10);
        for (name, definition) in newest {
            let hands_on = |line: &str| line.contains("FROM events") && line.contains("JSON_TABLE(");
            assert!(!definition.lines().any(hands_on), "{name}");
        }
    }
}
