//! Sessions and claims as rows: written as JSON arrays that the database unpacks itself, read as columns.

mod groups;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{
    Claim, ClaimSpec, ClaimState, LockSettings, Revision, ServerId, Session, SessionSpec, Text, Transfer,
};

use super::codec::{self, CodecError, counted, decode_metadata, encode_metadata, millis, mode, mode_name};
use super::connection::{Failure, Row};
pub(super) use groups::{add_member, group, group_chunks, member_chunks};

/// How many rows go into one statement at the most.
pub(super) const CHUNK: usize = 1000;

/// A statement gets no more rows when they take this many bytes: well below what databases take at once.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A row of `sessions`.
#[derive(Serialize)]
struct SessionRow<'a> {
    opened: u64,
    id: &'a str,
    owner: &'a str,
    ttl_ms: u64,
    disconnect_grace_ms: Option<u64>,
    home: u64,
    metadata: String,
}

/// A row of `claims`.
#[derive(Serialize)]
struct ClaimRow<'a> {
    id: u64,
    position: usize,
    name: &'a str,
    state: &'static str,
    token: Option<u64>,
    session: &'a str,
    opened: u64,
    owner: &'a str,
    priority: i32,
    mode: &'static str,
    permits: Option<u32>,
    permit_limit: Option<u32>,
    min_hold_ms: u64,
    home: Option<u64>,
    transfer_to: Option<u64>,
    transfer_started: Option<u64>,
    drain_ms: Option<u64>,
    metadata: &'a str,
}

/// A row of `settings`.
#[derive(Serialize)]
struct SettingsRow<'a> {
    position: usize,
    name: &'a str,
    permit_limit: Option<u32>,
    settling_ms: Option<u64>,
    drain_ms: Option<u64>,
}

/// Rows as JSON arrays of bounded size.
fn chunks<T: Serialize>(rows: &[T]) -> Result<Vec<String>, CodecError> {
    let mut chunks = Vec::new();
    let (mut chunk, mut count) = (String::new(), 0);
    for row in rows {
        if count == CHUNK || chunk.len() >= CHUNK_BYTES {
            chunks.push(std::mem::take(&mut chunk) + "]");
            count = 0;
        }
        chunk.push(if count == 0 { '[' } else { ',' });
        chunk.push_str(&serde_json::to_string(row)?);
        count += 1;
    }
    if count > 0 {
        chunks.push(chunk + "]");
    }
    Ok(chunks)
}

/// Keys as JSON arrays of at most [`CHUNK`].
pub(super) fn key_chunks(keys: impl Iterator<Item = u64>) -> Result<Vec<String>, CodecError> {
    chunks(&keys.collect::<Vec<_>>())
}

/// Sessions as JSON arrays of at most [`CHUNK`].
pub(super) fn session_chunks(sessions: &[Session]) -> Result<Vec<String>, CodecError> {
    let rows: Vec<SessionRow<'_>> = sessions.iter().map(session_row).collect::<Result<_, _>>()?;
    chunks(&rows)
}

fn session_row(session: &Session) -> Result<SessionRow<'_>, CodecError> {
    Ok(SessionRow {
        opened: session.opened.0,
        id: &session.spec.id,
        owner: &session.spec.owner,
        ttl_ms: millis(session.spec.ttl),
        disconnect_grace_ms: session.spec.disconnect_grace.map(millis),
        home: session.spec.home.0,
        metadata: encode_metadata(&session.spec.metadata)?,
    })
}

/// Claims, a row for each name, as JSON arrays of at most [`CHUNK`].
pub(super) fn claim_chunks(claims: &[Claim]) -> Result<Vec<String>, CodecError> {
    let metadata: Vec<String> =
        claims.iter().map(|claim| encode_metadata(&claim.spec.metadata)).collect::<Result<_, _>>()?;
    let rows: Vec<ClaimRow<'_>> =
        claims.iter().zip(&metadata).flat_map(|(claim, metadata)| claim_rows(claim, metadata)).collect();
    chunks(&rows)
}

fn claim_rows<'a>(claim: &'a Claim, metadata: &'a str) -> impl Iterator<Item = ClaimRow<'a>> {
    let (state, home) = match claim.state {
        ClaimState::Waiting => ("waiting", None),
        ClaimState::Held { .. } => ("held", None),
        ClaimState::Lingering { home, .. } => ("lingering", Some(home.0)),
    };
    let spec = &claim.spec;
    let counted = counted(spec.mode);
    spec.names.iter().enumerate().map(move |(position, name)| ClaimRow {
        id: claim.id.0,
        position,
        name,
        state,
        token: claim.token().map(|token| token.0),
        session: &spec.session,
        opened: spec.opened.0,
        owner: &spec.owner,
        priority: spec.priority,
        mode: mode_name(spec.mode),
        permits: counted.map(|(permits, _)| permits),
        permit_limit: counted.map(|(_, limit)| limit),
        min_hold_ms: millis(spec.min_hold),
        home,
        transfer_to: claim.transfer.as_ref().and_then(|transfer| Some(transfer.to?.0)),
        transfer_started: claim.transfer.as_ref().map(|transfer| transfer.started.0),
        drain_ms: claim.transfer.as_ref().map(|transfer| millis(transfer.drain)),
        metadata,
    })
}

/// What is set on locks, as JSON arrays of at most [`CHUNK`].
pub(super) fn settings_chunks(settings: &[(Text, LockSettings)]) -> Result<Vec<String>, CodecError> {
    let rows: Vec<SettingsRow<'_>> = settings
        .iter()
        .enumerate()
        .map(|(position, (name, settings))| SettingsRow {
            position,
            name,
            permit_limit: settings.limit,
            settling_ms: settings.preempt.map(|preempt| millis(preempt.settling)),
            drain_ms: settings.preempt.map(|preempt| millis(preempt.drain)),
        })
        .collect();
    chunks(&rows)
}

/// A revision, server or other number that is kept as a signed one.
pub(super) fn number(row: &Row, column: usize) -> Result<u64, Failure> {
    let value = row.int(column)?;
    u64::try_from(value).map_err(|_| Failure::Refused(format!("column {column} is negative: {value}")))
}

fn text(row: &Row, column: usize) -> Result<Text, Failure> {
    row.text(column).map(Text::from)
}

fn unreadable(error: CodecError) -> Failure {
    Failure::Refused(error.to_string())
}

/// A session from the columns of `load_sessions`.
pub(super) fn session(row: &Row) -> Result<Session, Failure> {
    let spec = SessionSpec {
        id: text(row, 1)?,
        owner: text(row, 2)?,
        ttl: Duration::from_millis(number(row, 3)?),
        disconnect_grace: if row.is_null(4) { None } else { Some(Duration::from_millis(number(row, 4)?)) },
        home: ServerId(number(row, 5)?),
        metadata: decode_metadata(row.text(6)?).map_err(unreadable)?,
    };
    Ok(Session { spec, opened: Revision(number(row, 0)?), claims: Default::default() })
}

/// Adds a row of `load_claims` to the claims read so far.
pub(super) fn add_claim(claims: &mut Vec<Claim>, row: &Row) -> Result<(), Failure> {
    let id = Revision(number(row, 0)?);
    let name = text(row, 2)?;
    if let Some(last) = claims.last_mut().filter(|last| last.id == id) {
        // The claim is not shared yet, so nothing is copied.
        Arc::make_mut(&mut last.spec).names.extend([name]);
        return Ok(());
    }
    let state = match row.text(3)? {
        "waiting" => ClaimState::Waiting,
        "held" => ClaimState::Held { token: Revision(number(row, 4)?) },
        "lingering" => ClaimState::Lingering { token: Revision(number(row, 4)?), home: ServerId(number(row, 10)?) },
        word => return Err(Failure::Refused(format!("a claim has the unknown state \"{word}\""))),
    };
    let spec = ClaimSpec {
        session: text(row, 5)?,
        opened: Revision(number(row, 6)?),
        owner: text(row, 7)?,
        names: name.into(),
        priority: i32::try_from(row.int(8)?).map_err(|error| Failure::Refused(error.to_string()))?,
        min_hold: Duration::from_millis(number(row, 9)?),
        metadata: decode_metadata(row.text(17)?).map_err(unreadable)?,
        mode: mode(row.text(11)?, small(row, 12)?, small(row, 13)?).map_err(unreadable)?,
    };
    let transfer = match optional(row, 15)? {
        None => None,
        Some(started) => Some(Box::new(Transfer {
            to: optional(row, 14)?.map(Revision),
            started: Revision(started),
            drain: Duration::from_millis(number(row, 16)?),
        })),
    };
    claims.push(Claim { transfer, ..Claim::new(id, Arc::new(spec), state) });
    Ok(())
}

/// What is set on a lock, from the columns of `load_settings`.
pub(super) fn settings(row: &Row) -> Result<(Text, LockSettings), Failure> {
    let settings = codec::settings(small(row, 2)?, optional(row, 3)?, optional(row, 4)?).map_err(unreadable)?;
    Ok((text(row, 1)?, settings))
}

fn optional(row: &Row, column: usize) -> Result<Option<u64>, Failure> {
    if row.is_null(column) { Ok(None) } else { number(row, column).map(Some) }
}

fn small(row: &Row, column: usize) -> Result<Option<u32>, Failure> {
    let too_large = |_| Failure::Refused(format!("column {column} is too large"));
    optional(row, column)?.map(|value| u32::try_from(value).map_err(too_large)).transpose()
}
