//! Support for fuzzers: writes and reads rows without a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tenure_core::{Group, Revision};

use super::Rows;
use super::sql::rows::{self, CLAIMS, CLIENTS, GROUPS, MEMBERS, SESSIONS, SETTINGS, labels};
use super::sql::{Arg, DriverError, Each, Table, page};

/// The rows of clients, sessions, claims, settings, groups and members, each in the JSON form that SQLite returns.
#[must_use]
pub fn pages(rows: &Rows) -> [String; 6] {
    let sessions = labels(rows.sessions.iter().map(|session| &session.spec.metadata));
    let claims = labels(rows.claims.iter().map(|claim| &claim.spec.metadata));
    let mut granted = rows.granted.iter().copied().peekable();
    let members = rows.groups.iter().flat_map(|group| group.members.values());
    let members = labels(members.map(|member| &member.spec.metadata));
    [
        page(&CLIENTS, &rows::client_cells("", &rows.clients)),
        page(&SESSIONS, &rows::session_cells("", &rows.sessions, &sessions)),
        page(&CLAIMS, &rows::claim_cells("", &rows.claims, &claims, &mut granted)),
        page(&SETTINGS, &rows::settings_cells("", &rows.settings)),
        page(&GROUPS, &rows::group_cells("", &rows.groups)),
        page(&MEMBERS, &rows::member_cells("", &rows.groups, &members)),
    ]
}

/// Reads rows from such pages.
///
/// # Errors
/// If one of them is not a page, or has a row that its table cannot have.
pub fn read([clients, sessions, claims, settings, groups, members]: [&str; 6]) -> Result<Rows, String> {
    let mut read = Rows::default();
    let mut grouped: BTreeMap<Revision, Group> = BTreeMap::new();
    each(clients, &mut |row| rows::client(row).map(|client| read.clients.push(client)))?;
    each(sessions, &mut |row| rows::session(row).map(|session| read.sessions.push(session)))?;
    each(claims, &mut |row| rows::add_claim(&mut read.claims, &mut read.granted, &read.sessions, row))?;
    each(settings, &mut |row| rows::settings(row).map(|settings| read.settings.push(settings)))?;
    each(groups, &mut |row| rows::group(row).map(|group| drop(grouped.insert(group.id, group))))?;
    each(members, &mut |row| rows::add_member(&mut grouped, row))?;
    read.groups = grouped.into_values().map(Arc::new).collect();
    Ok(read)
}

/// A page of the table's rows, with all columns except the namespace.
fn page(table: &Table, cells: &[Arg<'_>]) -> String {
    let array = |row: &[Arg<'_>]| row[1..].iter().map(cell).collect::<Value>();
    let rows: Vec<String> = cells.chunks(table.columns.len()).map(|row| array(row).to_string()).collect();
    rows.join("\n")
}

fn cell(cell: &Arg<'_>) -> Value {
    match cell {
        Arg::Null => Value::Null,
        Arg::Int(number) => Value::from(*number),
        Arg::Text(text) => Value::from(*text),
    }
}

fn each(page: &str, each: &mut Each<'_>) -> Result<(), String> {
    page::read(page, each).map_err(DriverError::reason)
}
