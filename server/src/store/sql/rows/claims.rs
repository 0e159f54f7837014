//! Encoding and decoding of claims as rows, one for each name.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Claim, ClaimSpec, ClaimState, Mode, Revision, ServerId, Session, Text, Transfer, whole_millis};

use super::{int, number, optional, optional_int, small, text, unreadable};
use crate::store::codec::decode_metadata;
use crate::store::sql::connection::{Arg, DriverError, Row};
use crate::store::sql::statements::Table;

pub(crate) static CLAIMS: Table = Table {
    name: "claims",
    columns: &[
        "namespace",
        "id",
        "position",
        "name",
        "state",
        "token",
        "session",
        "opened",
        "owner",
        "priority",
        "min_hold_ms",
        "home",
        "mode",
        "permits",
        "permit_limit",
        "transfer_to",
        "transfer_started",
        "drain_ms",
        "waiting_server",
        "metadata",
        "granted_at_ms",
        "declared",
    ],
};

/// Encodes rows of [`CLAIMS`]. `labels`: of each claim, as JSON. `granted`: the tokens whose grant has a known stamp,
/// with that stamp, in the order of the claims; consumed as far as these claims go.
pub(crate) fn claim_cells<'a>(
    namespace: &'a str,
    claims: &'a [Claim],
    labels: &'a [Cow<'_, str>],
    granted: &mut std::iter::Peekable<impl Iterator<Item = (Revision, i64)>>,
) -> Vec<Arg<'a>> {
    let rows = claims.iter().map(|claim| claim.spec.names.len()).sum::<usize>();
    let mut cells = Vec::with_capacity(rows * CLAIMS.columns.len());
    for (claim, labels) in claims.iter().zip(labels) {
        let (state, home) = match claim.state {
            ClaimState::Waiting => ("waiting", None),
            ClaimState::Held { .. } => ("held", None),
            ClaimState::Lingering { home, .. } => ("lingering", Some(home.0)),
        };
        let (spec, transfer) = (&claim.spec, claim.transfer.as_ref());
        let (mode, permits, limit) = match spec.mode {
            Mode::Exclusive => ("exclusive", None, None),
            Mode::Shared => ("shared", None, None),
            Mode::Permits { permits, limit } => ("permits", Some(permits.into()), Some(limit.into())),
        };
        let granted = granted.next_if(|(token, _)| claim.token() == Some(*token)).map(|(_, at_ms)| at_ms);
        for (name, position) in spec.names.iter().zip(0..) {
            cells.extend([
                Arg::Text(namespace),
                int(claim.id.0),
                int(position),
                Arg::Text(name),
                Arg::Text(state),
                optional_int(claim.token().map(|token| token.0)),
                Arg::Text(&spec.session),
                int(spec.opened.0),
                Arg::Text(&spec.owner),
                Arg::Int(spec.priority.into()),
                int(spec.min_hold.into()),
                optional_int(home),
                Arg::Text(mode),
                optional_int(permits),
                optional_int(limit),
                optional_int(transfer.and_then(|transfer| Some(transfer.to?.0))),
                optional_int(transfer.map(|transfer| transfer.started.0)),
                optional_int(transfer.map(|transfer| whole_millis(transfer.drain))),
                optional_int(spec.waiting_server.map(|at| at.0)),
                Arg::Text(labels),
                granted.map_or(Arg::Null, Arg::Int),
                int(spec.declared),
            ]);
        }
    }
    cells
}

/// Adds a row of `load_claims` to the claims read so far, and to the stamps of their grants. `sessions`: the open ones
/// by opening revision, with which claims share texts.
pub(crate) fn add_claim(
    claims: &mut Vec<Claim>,
    granted: &mut Vec<(Revision, i64)>,
    sessions: &[Session],
    row: &Row<'_>,
) -> Result<(), DriverError> {
    let id = Revision(number(row, 0)?);
    let name = text(row, 2)?;
    if let Some(last) = claims.last_mut().filter(|last| last.id == id) {
        // The claim is not shared yet, so `make_mut` copies nothing.
        let spec = Arc::make_mut(&mut last.spec);
        spec.names = spec.names.iter().cloned().chain([name]).collect();
        return Ok(());
    }
    let state = match row.text(3)? {
        "waiting" => ClaimState::Waiting,
        "held" => ClaimState::Held { token: Revision(number(row, 4)?) },
        "lingering" => ClaimState::Lingering { token: Revision(number(row, 4)?), home: ServerId(number(row, 10)?) },
        word => return Err(DriverError::Unreadable(format!("a claim has the unknown state \"{word}\""))),
    };
    let opened = Revision(number(row, 6)?);
    let session = sessions.binary_search_by_key(&opened, |session| session.opened).ok().map(|index| &sessions[index]);
    let spec = ClaimSpec {
        session: shared(row, 5, session.map(|session| &session.spec.id))?,
        opened,
        owner: shared(row, 7, session.map(|session| &session.spec.owner))?,
        names: name.into(),
        priority: i32::try_from(row.int(8)?).map_err(|error| DriverError::Unreadable(error.to_string()))?,
        min_hold: number(row, 9)?.into(),
        waiting_server: optional(row, 17)?.map(ServerId),
        metadata: decode_metadata(row.text(18)?).map_err(unreadable)?,
        mode: mode(row)?,
        declared: number(row, 20)?,
    };
    let transfer = match optional(row, 15)? {
        None => None,
        Some(started) => Some(Box::new(Transfer {
            to: optional(row, 14)?.map(Revision),
            started: Revision(started),
            drain: Duration::from_millis(number(row, 16)?),
        })),
    };
    let claim = Claim { transfer, ..Claim::new(id, Arc::new(spec), state) };
    if let Some(token) = claim.token().filter(|_| !row.is_null(19)) {
        granted.push((token, row.int(19)?));
    }
    claims.push(claim);
    Ok(())
}

fn mode(row: &Row<'_>) -> Result<Mode, DriverError> {
    match (row.text(11)?, small(row, 12)?, small(row, 13)?) {
        ("exclusive", ..) => Ok(Mode::Exclusive),
        ("shared", ..) => Ok(Mode::Shared),
        ("permits", Some(permits), Some(limit)) => Ok(Mode::Permits { permits, limit }),
        (word, ..) => {
            Err(DriverError::Unreadable(format!("a claim has the unknown mode \"{word}\", or lacks its permits")))
        }
    }
}

/// Reads a text, which is shared with the session if equal, as it usually is.
fn shared(row: &Row<'_>, column: usize, of_session: Option<&Text>) -> Result<Text, DriverError> {
    let text = row.text(column)?;
    Ok(of_session.filter(|of_session| ***of_session == *text).cloned().unwrap_or_else(|| text.into()))
}
