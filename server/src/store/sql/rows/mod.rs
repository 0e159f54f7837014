//! The rows that sum up the log: which values they are written as, and how they are read.

mod claims;
mod groups;
mod sessions;
mod settings;

use super::connection::{Arg, Failure, Row};
use crate::store::codec::CodecError;
pub(crate) use claims::{CLAIMS, add_claim, claim_cells};
pub(crate) use groups::{GROUPS, MEMBERS, add_member, group, group_cells, member_cells};
pub(crate) use sessions::{SESSIONS, session, session_cells};
pub(crate) use settings::{SETTINGS, settings, settings_cells};
use tenure_core::Text;

/// How many rows go into one statement, or come out of one, at the most.
pub(crate) const CHUNK: usize = 1000;

/// A statement gets no more rows when they take this many bytes: well below what databases take at once.
const CHUNK_BYTES: usize = 1024 * 1024;

/// Rows of so many cells each, in parts that are not too large for one statement.
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

/// A number of ours as the database keeps it. Those that may use all 64 bits come back the same.
pub(crate) fn int(value: u64) -> Arg<'static> {
    Arg::Int(value.cast_signed())
}

/// How many, as the database takes it.
pub(crate) fn count(value: usize) -> Arg<'static> {
    Arg::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn optional_int(value: Option<u64>) -> Arg<'static> {
    value.map_or(Arg::Null, int)
}

fn optional_text(value: Option<&str>) -> Arg<'_> {
    value.map_or(Arg::Null, Arg::Text)
}

/// A revision, server or other number that is kept as a signed one.
pub(crate) fn number(row: &Row<'_>, column: usize) -> Result<u64, Failure> {
    let value = row.int(column)?;
    u64::try_from(value).map_err(|_| Failure::Refused(format!("column {column} is negative: {value}")))
}

fn text(row: &Row<'_>, column: usize) -> Result<Text, Failure> {
    row.text(column).map(Text::from)
}

fn optional(row: &Row<'_>, column: usize) -> Result<Option<u64>, Failure> {
    if row.is_null(column) { Ok(None) } else { number(row, column).map(Some) }
}

fn small(row: &Row<'_>, column: usize) -> Result<Option<u32>, Failure> {
    let too_large = |_| Failure::Refused(format!("column {column} is too large"));
    optional(row, column)?.map(|value| u32::try_from(value).map_err(too_large)).transpose()
}

fn unreadable(error: CodecError) -> Failure {
    Failure::Refused(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rows each statement has.
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
    fn a_statement_ends_after_the_row_with_which_it_is_large() {
        let (large, half) = ("x".repeat(CHUNK_BYTES + 1), "x".repeat(CHUNK_BYTES / 2));
        let texts = [&large, &large, &half, &half, &half];
        let cells: Vec<Arg<'_>> = texts.iter().flat_map(|text| [Arg::Int(1), Arg::Text(text)]).collect();
        assert_eq!(split(&cells, 2), [1, 1, 2, 1]);
    }
}
