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
    read(connection, sql.load_sessions, namespace, [0], &mut |row| {
        rows::session(row).map(|session| sessions.push(session))
    })
    .await?;
    read(connection, sql.load_claims, namespace, [0, 0], &mut |row| {
        rows::add_claim(&mut claims, &mut granted, &sessions, row)
    })
    .await?;
    read(connection, sql.load_settings, namespace, [-1], &mut |row| {
        rows::settings(row).map(|lock| settings.push(lock))
    })
    .await?;
    read(connection, sql.load_groups, namespace, [0], &mut |row| {
        rows::group(row).map(|group| drop(groups.insert(group.id, group)))
    })
    .await?;
    read(connection, sql.load_members, namespace, [0, 0], &mut |row| rows::add_member(&mut groups, row)).await?;
    let groups = groups.into_values().map(Arc::new).collect();
    Ok(Rows { revision, lost, sessions, claims, granted, settings, groups })
}

/// Reads a table from after a key to its end. The key of a row is its first `N` columns.
async fn read<const N: usize>(
    connection: &mut Taken,
    sql: &'static str,
    namespace: &str,
    mut after: [i64; N],
    each: &mut Each<'_>,
) -> Result<(), DriverError> {
    loop {
        let key = after.map(Arg::Int);
        // The first of two columns is compared twice: with equal keys and with greater ones.
        let args = [&[Arg::Text(namespace)][..], &key[..N - 1], &key[..], &[count(CHUNK)][..]].concat();
        let mut found = 0;
        let mut next = |row: &Row<'_>| {
            found += 1;
            for (column, key) in after.iter_mut().enumerate() {
                *key = row.int(column)?;
            }
            each(row)
        };
        connection.load(sql, &args, &mut next).await?;
        if found < CHUNK {
            return Ok(());
        }
    }
}
