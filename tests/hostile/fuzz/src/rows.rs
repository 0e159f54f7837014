//! The rows that summarize the log, as a store writes and reads them.

use tenure_core::{Revision, Session, Table};
use tenure_server::store::{Rows, fuzzing};

use crate::changes;
use crate::draw::Draw;

/// The separator between the pages of an input.
pub(crate) const SEPARATOR: &str = "\n---\n";

/// The rows of any table are read as they were. Other readable rows are written such that they read the same;
/// unreadable rows are rejected with a reason.
pub fn rows(data: &[u8]) {
    if let Some((b'!', rest)) = data.split_first() {
        let (table, _) = changes::table(&mut Draw::new(rest), 64);
        let rows = rows_of(&table);
        assert_eq!(again(&rows), rows);
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut given = text.split(SEPARATOR);
    match fuzzing::read(std::array::from_fn(|_| given.next().unwrap_or_default())) {
        Ok(rows) => assert_eq!(again(&rows), rows),
        Err(problem) => assert!(!problem.is_empty()),
    }
}

/// Rows after writing and reading.
fn again(rows: &Rows) -> Rows {
    let pages = fuzzing::pages(rows);
    fuzzing::read(pages.each_ref().map(String::as_str)).expect("written rows can be read")
}

/// A table's rows. The claims of a session follow from the claims.
pub(crate) fn rows_of(table: &Table) -> Rows {
    let sessions = table.sessions_after(Revision(0)).map(|session| Session::new(session.spec.clone(), session.opened));
    let sessions = sessions.collect();
    let mut clients: Vec<_> = table.clients().cloned().collect();
    clients.iter_mut().for_each(|client| client.items = tenure_core::Items::default());
    clients.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    let mut groups: Vec<_> = table.groups_after("", None).cloned().collect();
    groups.sort_unstable_by_key(|group| group.id);
    let claims: Vec<_> = table.claims().cloned().collect();
    // For some the time is unknown.
    let tokens = claims.iter().filter_map(|claim| claim.token()).filter(|token| token.0 % 3 > 0);
    let granted = tokens.map(|token| (token, token.0.cast_signed() - 1)).collect();
    Rows {
        revision: Revision(0),
        lost: Revision(0),
        clients,
        sessions,
        claims,
        granted,
        settings: table.all_settings().map(|(name, settings)| (name.clone(), settings.clone())).collect(),
        groups,
    }
}
