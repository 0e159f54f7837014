//! Encoding and decoding of sessions as rows.

use std::borrow::Cow;
use std::time::Duration;

use tenure_core::{Revision, ServerId, Session, SessionSpec, whole_millis};

use super::{int, number, optional, optional_int, optional_text, text, unreadable};
use crate::store::codec::decode_metadata;
use crate::store::sql::connection::{Arg, DriverError, Row};
use crate::store::sql::statements::Table;

pub(crate) static SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        "namespace",
        "opened",
        "id",
        "owner",
        "ttl_ms",
        "disconnect_grace_ms",
        "home",
        "identity",
        "client",
        "declared",
        "metadata",
    ],
};

/// Encodes rows of [`SESSIONS`]. `labels`: of each session, as JSON.
pub(crate) fn session_cells<'a>(
    namespace: &'a str,
    sessions: &'a [Session],
    labels: &'a [Cow<'_, str>],
) -> Vec<Arg<'a>> {
    let mut cells = Vec::with_capacity(sessions.len() * SESSIONS.columns.len());
    for (Session { spec, opened, .. }, labels) in sessions.iter().zip(labels) {
        cells.extend([
            Arg::Text(namespace),
            int(opened.0),
            Arg::Text(&spec.id),
            Arg::Text(&spec.owner),
            int(whole_millis(spec.ttl)),
            optional_int(spec.disconnect_grace.map(whole_millis)),
            int(spec.home.0),
            optional_text(spec.identity.as_deref()),
            optional_text(spec.client.as_deref()),
            int(spec.declared),
            Arg::Text(labels),
        ]);
    }
    cells
}

/// Decodes a session from the columns of `load_sessions`.
pub(crate) fn session(row: &Row<'_>) -> Result<Session, DriverError> {
    let spec = SessionSpec {
        id: text(row, 1)?,
        owner: text(row, 2)?,
        ttl: Duration::from_millis(number(row, 3)?),
        disconnect_grace: optional(row, 4)?.map(Duration::from_millis),
        home: ServerId(number(row, 5)?),
        identity: if row.is_null(6) { None } else { Some(text(row, 6)?) },
        client: if row.is_null(7) { None } else { Some(text(row, 7)?) },
        declared: number(row, 8)?,
        metadata: decode_metadata(row.text(9)?).map_err(unreadable)?,
    };
    Ok(Session::new(spec, Revision(number(row, 0)?)))
}
