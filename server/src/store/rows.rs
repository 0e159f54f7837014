//! Sessions and claims as rows: written as JSON arrays that the database unpacks itself, read as columns.

mod groups;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{Claim, ClaimSpec, ClaimState, Revision, ServerId, Session, SessionSpec, Text};

use super::codec::{CodecError, decode_metadata, encode_metadata, millis};
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
    min_hold_ms: u64,
    home: Option<u64>,
    metadata: &'a str,
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
        min_hold_ms: millis(spec.min_hold),
        home,
        metadata,
    })
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
        home: ServerId(number(row, 4)?),
        metadata: decode_metadata(row.text(5)?).map_err(unreadable)?,
    };
    Ok(Session { spec, opened: Revision(number(row, 0)?), claims: Default::default() })
}

/// Adds a row of `load_claims` to the claims read so far.
pub(super) fn add_claim(claims: &mut Vec<Claim>, row: &Row) -> Result<(), Failure> {
    let id = Revision(number(row, 0)?);
    let name = text(row, 2)?;
    if let Some(last) = claims.last_mut().filter(|last| last.id == id) {
        // The claim is not shared yet, so nothing is copied.
        Arc::make_mut(&mut last.spec).names.push(name);
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
        names: vec![name],
        priority: i32::try_from(row.int(8)?).map_err(|error| Failure::Refused(error.to_string()))?,
        min_hold: Duration::from_millis(number(row, 9)?),
        metadata: decode_metadata(row.text(11)?).map_err(unreadable)?,
    };
    claims.push(Claim { id, spec: Arc::new(spec), state });
    Ok(())
}
