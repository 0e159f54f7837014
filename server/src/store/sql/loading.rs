//! Loading of rows, part by part.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Client, Group, Revision};
use tokio::time::Instant;

use super::connection::{Arg, Cell, DriverError, Each, Part, Row};
use super::pool::Taken;
use super::rows::{self, CHUNK, number};
use crate::store::Rows;

/// A part that was read within this time is followed by one of twice as many rows. After a slow one they begin small
/// again, so that none exceeds the time that a statement may take.
const QUICK: Duration = Duration::from_millis(100);

/// Less than every key that is a revision ...
const FIRST: Cell<'static> = Cell::Int(0);

/// ... and than every key that is a text.
const FIRST_TEXT: Cell<'static> = Cell::Text(Cow::Borrowed(""));

/// Loads the rows of a namespace, within a transaction that sees them as of one moment.
pub(super) async fn load_rows(connection: &mut Taken, namespace: &str) -> Result<Rows, DriverError> {
    let sql = connection.sql;
    let found = connection.fetch(sql.row_head, &[Arg::Text(namespace)]).await?;
    let Some(found) = found.first() else { return Ok(Rows::default()) };
    let (revision, lost) = (Revision(number(found, 0)?), Revision(number(found, 1)?));
    let mut clients = Vec::new();
    let (mut sessions, mut claims, mut granted, mut settings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut groups: BTreeMap<Revision, Group> = BTreeMap::new();
    read(connection, sql.load_clients, namespace, &[FIRST_TEXT], &mut |row| {
        rows::client(row).map(|client| clients.push(client))
    })
    .await?;
    // The database sorts texts by its own rules.
    clients.sort_unstable_by(|one: &Client, other| one.id.cmp(&other.id));
    read(connection, sql.load_sessions, namespace, &[FIRST], &mut |row| {
        rows::session(row).map(|session| sessions.push(session))
    })
    .await?;
    read(connection, sql.load_claims, namespace, &[FIRST, FIRST], &mut |row| {
        rows::add_claim(&mut claims, &mut granted, &sessions, row)
    })
    .await?;
    read(connection, sql.load_settings, namespace, &[Cell::Int(-1)], &mut |row| {
        rows::settings(row).map(|lock| settings.push(lock))
    })
    .await?;
    read(connection, sql.load_groups, namespace, &[FIRST], &mut |row| {
        rows::group(row).map(|group| drop(groups.insert(group.id, group)))
    })
    .await?;
    read(connection, sql.load_members, namespace, &[FIRST, FIRST], &mut |row| rows::add_member(&mut groups, row))
        .await?;
    let groups = groups.into_values().map(Arc::new).collect();
    Ok(Rows { revision, lost, clients, sessions, claims, granted, settings, groups })
}

/// Reads the rows of a table that follow a key.
async fn read(
    connection: &mut Taken,
    sql: &'static str,
    namespace: &str,
    key: &[Cell<'static>],
    each: &mut Each<'_>,
) -> Result<(), DriverError> {
    let mut part = Part { namespace: namespace.to_owned(), key: key.to_vec(), limit: CHUNK };
    loop {
        let begun = Instant::now();
        let (mut found, mut next) = (0, part.clone());
        let mut count = |row: &Row<'_>| {
            found += 1;
            if found == part.limit {
                next = part.after(row);
            }
            each(row)
        };
        connection.load(sql, &part, &mut count).await?;
        if found < part.limit {
            return Ok(());
        }
        next.limit = if begun.elapsed() < QUICK { connection.largest_part().min(2 * part.limit) } else { CHUNK };
        part = next;
    }
}
