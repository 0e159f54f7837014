//! Encoding and decoding of the rows that sum up the log.

mod claims;
mod clients;
mod groups;
mod sessions;
mod settings;

use std::borrow::Cow;

use tenure_core::{Metadata, Text};

use super::connection::{Arg, DriverError, Row};
use crate::store::codec::{CodecError, encode_metadata};
pub(crate) use claims::{CLAIMS, add_claim, claim_cells};
pub(crate) use clients::{CLIENTS, client, client_cells};
pub(crate) use groups::{GROUPS, MEMBERS, add_member, group, group_cells, member_cells};
pub(crate) use sessions::{SESSIONS, session, session_cells};
pub(crate) use settings::{SETTINGS, settings, settings_cells};

/// Maximum number of rows that one statement writes or returns.
pub(crate) const CHUNK: usize = 1000;

/// A statement gets no more rows once they reach this size: well below the limits of databases.
const CHUNK_BYTES: usize = 1024 * 1024;

/// Splits rows of `width` cells into parts that are not too large for one statement.
pub(crate) fn statements<'c, 'a>(cells: &'c [Arg<'a>], width: usize) -> impl Iterator<Item = &'c [Arg<'a>]> {
    let mut rest = cells;
    std::iter::from_fn(move || {
        let (mut rows, mut bytes) = (0, 0);
        for row in rest.chunks(width).take(CHUNK) {
            rows += 1;
            bytes += row.iter().map(|cell| if let Arg::Text(text) = cell { text.len() } else { 0 }).sum::<usize>();
            if bytes >= CHUNK_BYTES {
                break;
            }
        }
        let (statement, later) = rest.split_at((rows * width).min(rest.len()));
        rest = later;
        (!statement.is_empty()).then_some(statement)
    })
}

/// A number as the database stores it. Numbers that use all 64 bits are read back unchanged.
pub(crate) fn int(value: u64) -> Arg<'static> {
    Arg::Int(value.cast_signed())
}

/// A count as the database stores it.
pub(crate) fn count(value: usize) -> Arg<'static> {
    Arg::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Encodes labels as JSON.
pub(crate) fn labels<'a>(labels: impl Iterator<Item = &'a Metadata>) -> Vec<Cow<'static, str>> {
    labels.map(encode_metadata).collect()
}

fn optional_int(value: Option<u64>) -> Arg<'static> {
    value.map_or(Arg::Null, int)
}

fn optional_text(value: Option<&str>) -> Arg<'_> {
    value.map_or(Arg::Null, Arg::Text)
}

/// Reads a revision, server or other number that is stored as a signed one.
pub(crate) fn number(row: &Row<'_>, column: usize) -> Result<u64, DriverError> {
    let value = row.int(column)?;
    u64::try_from(value).map_err(|_| DriverError::Unreadable(format!("column {column} is negative: {value}")))
}

fn text(row: &Row<'_>, column: usize) -> Result<Text, DriverError> {
    row.text(column).map(Text::from)
}

fn optional(row: &Row<'_>, column: usize) -> Result<Option<u64>, DriverError> {
    if row.is_null(column) { Ok(None) } else { number(row, column).map(Some) }
}

fn small(row: &Row<'_>, column: usize) -> Result<Option<u32>, DriverError> {
    let too_large = |_| DriverError::Unreadable(format!("column {column} is too large"));
    optional(row, column)?.map(|value| u32::try_from(value).map_err(too_large)).transpose()
}

pub(crate) fn unreadable(error: CodecError) -> DriverError {
    DriverError::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of rows of each statement.
    fn split(cells: &[Arg<'_>], width: usize) -> Vec<usize> {
        statements(cells, width).map(|statement| statement.len() / width).collect()
    }

    #[test]
    fn statements_have_rows_within_bounds() {
        assert_eq!(split(&[], 3), [0; 0]);
        assert_eq!(split(&[Arg::Null; 3], 3), [1]);
        assert_eq!(split(&[Arg::Int(1); 2 * 2_500], 2), [CHUNK, CHUNK, 500]);
    }

    #[test]
    fn statement_ends_after_the_row_that_makes_it_large() {
        let (large, half) = ("x".repeat(CHUNK_BYTES + 1), "x".repeat(CHUNK_BYTES / 2));
        let texts = [&large, &large, &half, &half, &half];
        let cells: Vec<Arg<'_>> = texts.iter().flat_map(|text| [Arg::Int(1), Arg::Text(text)]).collect();
        assert_eq!(split(&cells, 2), [1, 1, 2, 1]);
    }
}
