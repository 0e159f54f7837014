//! Loading of rows, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::{Group, Revision};

use super::connection::{Arg, DriverError, Each, Row};
use super::pool::Taken;
use super::rows::{self, CHUNK, count, number};
use crate::store::Rows;

/// Loads the rows of a namespace, within a transaction that sees them as of one moment.
pub(super) async fn load_rows(connection: &mut Taken, namespace: &str) -> Result<Rows, DriverError> {
    let sql = connection.sql;
    let found = connection.fetch(sql.rows_revision, &[Arg::Text(namespace)]).await?;
    let Some(found) = found.first() else { return Ok(Rows::default()) };
    let (revision, lost) = (Revision(number(found, 0)?), Revision(number(found, 1)?));
    let (mut sessions, mut claims, mut granted, mut settings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut groups: BTreeMap<Revision, Group> = BTreeMap::new();
    read(connection, sql.load_sessions, namespace, Key::One(0), &mut |row| {
        sessions.push(rows::session(row)?);
        Ok(())
    })
    .await?;
    read(connection, sql.load_claims, namespace, Key::Two(0, 0), &mut |row| {
        rows::add_claim(&mut claims, &mut granted, &sessions, row)
    })
    .await?;
    read(connection, sql.load_settings, namespace, Key::One(-1), &mut |row| {
        settings.push(rows::settings(row)?);
        Ok(())
    })
    .await?;
    read(connection, sql.load_groups, namespace, Key::One(0), &mut |row| {
        let group = rows::group(row)?;
        groups.insert(group.id, group);
        Ok(())
    })
    .await?;
    read(connection, sql.load_members, namespace, Key::Two(0, 0), &mut |row| rows::add_member(&mut groups, row))
        .await?;
    let groups = groups.into_values().map(Arc::new).collect();
    Ok(Rows { revision, lost, sessions, claims, granted, settings, groups })
}

/// The key of a row, which is its first column or its first two.
#[derive(Clone, Copy)]
enum Key {
    One(i64),
    Two(i64, i64),
}

impl Key {
    /// The key of this row, of the same kind as `self`.
    fn of(self, row: &Row<'_>) -> Result<Self, DriverError> {
        match self {
            Self::One(_) => Ok(Self::One(row.int(0)?)),
            Self::Two(..) => Ok(Self::Two(row.int(0)?, row.int(1)?)),
        }
    }
}

/// Reads a table from after a key to its end.
async fn read(
    connection: &mut Taken,
    sql: &'static str,
    namespace: &str,
    mut after: Key,
    each: &mut Each<'_>,
) -> Result<(), DriverError> {
    let (namespace, most) = (Arg::Text(namespace), count(CHUNK));
    loop {
        let (one, two);
        let args: &[Arg<'_>] = match after {
            Key::One(key) => {
                one = [namespace, Arg::Int(key), most];
                &one
            }
            Key::Two(key, second) => {
                two = [namespace, Arg::Int(key), Arg::Int(key), Arg::Int(second), most];
                &two
            }
        };
        let mut found = 0;
        let mut next = |row: &Row<'_>| {
            found += 1;
            after = after.of(row)?;
            each(row)
        };
        connection.load(sql, args, &mut next).await?;
        if found < CHUNK {
            return Ok(());
        }
    }
}
