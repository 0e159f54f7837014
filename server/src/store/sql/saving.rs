//! Changes of rows. Data is encoded statement by statement, so that memory use stays small regardless of the number of
//! changes.

use serde_json::Value;
use tenure_core::Revision;

use super::connection::{Arg, DriverError};
use super::pool::Taken;
use super::rows::{
    CHUNK, CLAIMS, CLIENTS, GROUPS, MEMBERS, SESSIONS, SETTINGS, claim_cells, client_cells, group_cells, int, labels,
    member_cells, session_cells, settings_cells, statements,
};
use super::statements::Table;
use crate::store::RowChanges;
use crate::store::codec::encode_keys;

/// Changes the rows within a transaction. If the result is false, the rows were not at `changes.from`, and the
/// transaction must be rolled back.
pub(super) async fn change_rows(
    connection: &mut Taken,
    namespace: &str,
    changes: &RowChanges,
) -> Result<bool, DriverError> {
    let sql = connection.sql;
    let removed = |ended: &[Revision], there: &mut dyn Iterator<Item = Revision>| -> Vec<u64> {
        // Items created after the rows were written have no rows.
        let replaced = there.filter(|key| *key <= changes.from);
        ended.iter().copied().chain(replaced).map(|key| key.0).collect()
    };

    let clients = changes.ended_clients.iter().chain(changes.clients.iter().map(|client| &client.id));
    let clients: Vec<&str> = clients.map(|id| &**id).collect();
    delete(connection, &[sql.delete_clients], namespace, &clients).await?;
    for part in changes.clients.chunks(CHUNK) {
        insert(connection, &CLIENTS, &client_cells(namespace, part)).await?;
    }

    let sessions = removed(&changes.ended_sessions, &mut changes.sessions.iter().map(|session| session.opened));
    delete(connection, &[sql.delete_sessions], namespace, &sessions).await?;
    for part in changes.sessions.chunks(CHUNK) {
        let labels = labels(part.iter().map(|session| &session.spec.metadata));
        insert(connection, &SESSIONS, &session_cells(namespace, part, &labels)).await?;
    }

    let claims = removed(&changes.ended_claims, &mut changes.claims.iter().map(|claim| claim.id));
    delete(connection, &[sql.delete_claims], namespace, &claims).await?;
    let mut granted = changes.granted.iter().copied().peekable();
    for part in changes.claims.chunks(CHUNK) {
        let labels = labels(part.iter().map(|claim| &claim.spec.metadata));
        insert(connection, &CLAIMS, &claim_cells(namespace, part, &labels, &mut granted)).await?;
    }

    if let Some(settings) = &changes.settings {
        connection.execute(sql.delete_settings, &[Arg::Text(namespace)]).await?;
        insert(connection, &SETTINGS, &settings_cells(namespace, settings)).await?;
    }

    let groups = removed(&changes.ended_groups, &mut changes.groups.iter().map(|group| group.id));
    delete(connection, &[sql.delete_members, sql.delete_groups], namespace, &groups).await?;
    for part in changes.groups.chunks(CHUNK) {
        insert(connection, &GROUPS, &group_cells(namespace, part)).await?;
        let members = part.iter().flat_map(|group| group.members.values());
        let labels = labels(members.map(|member| &member.spec.metadata));
        insert(connection, &MEMBERS, &member_cells(namespace, part, &labels)).await?;
    }

    let (from, to, lost) = (int(changes.from.0), int(changes.to.0), int(changes.lost.0));
    let namespace = Arg::Text(namespace);
    if changes.from == Revision(0) {
        connection.execute(sql.create_row_head, &[namespace]).await?;
    }
    Ok(connection.execute(sql.advance_rows, &[to, lost, namespace, from, namespace, to, namespace]).await? == 1)
}

/// Deletes rows by their keys.
async fn delete<K: Clone + Into<Value>>(
    connection: &mut Taken,
    statements: &[&'static str],
    namespace: &str,
    keys: &[K],
) -> Result<(), DriverError> {
    for keys in keys.chunks(CHUNK) {
        let keys = encode_keys(keys);
        for sql in statements {
            connection.execute(sql, &[Arg::Text(&keys), Arg::Text(namespace)]).await?;
        }
    }
    Ok(())
}

async fn insert(connection: &mut Taken, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), DriverError> {
    for statement in statements(cells, table.columns.len()) {
        connection.insert(table, statement).await?;
    }
    Ok(())
}
