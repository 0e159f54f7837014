//! A page of rows as one text, for a database that takes longer to return a row than to find it: a line for each row,
//! a JSON array.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::connection::{Cell, DriverError, Each, Row};

/// Passes the rows of a page to `each` one by one. Texts are copied only if they contain escapes.
pub(crate) fn read(page: &str, each: &mut Each<'_>) -> Result<(), DriverError> {
    serde_json::Deserializer::from_str(page).into_iter().try_for_each(|cells| each(&Row(cells.map_err(unreadable)?)))
}

/// The last row of a page, if it has `rows`.
pub(crate) fn last(page: &str, rows: usize) -> Result<Option<Row<'_>>, DriverError> {
    // A text in JSON has no line breaks: they are escaped.
    let mut lines = page.rsplit('\n');
    let last = lines.next().filter(|_| lines.count() + 1 >= rows);
    last.map(|last| serde_json::from_str(last).map(Row).map_err(unreadable)).transpose()
}

fn unreadable(error: serde_json::Error) -> DriverError {
    DriverError::Unreadable(error.to_string())
}

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyCell)
    }
}

struct AnyCell;

impl<'de> Visitor<'de> for AnyCell {
    type Value = Cell<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("null, an integer or a string")
    }

    fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Null)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Cell<'de>, E> {
        i64::try_from(value).map(Cell::Int).map_err(E::custom)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(json: &str) -> Result<Vec<Row<'static>>, DriverError> {
        let mut rows = Vec::new();
        read(json, &mut |row| {
            rows.push(row.to_owned());
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let text = |text: &'static str| Cell::Text(text.into());
        let expected =
            [Row(vec![Cell::Int(i64::MAX), Cell::Null, text("a\"b\n")]), Row(vec![Cell::Int(-1), text("é")])];
        let page = "[9223372036854775807,null,\"a\\\"b\\n\"]\n[-1,\"é\"]";
        assert_eq!(rows(page).unwrap(), expected);
        assert_eq!(last(page, 2).unwrap().as_ref(), expected.last());
        assert_eq!(last(page, 3), Ok(None));
        assert_eq!(rows(""), Ok(vec![]));
        assert_eq!(last("", 1_000), Ok(None));
    }

    #[test]
    fn malformed_page_is_rejected() {
        for page in ["[1", "[1.5]", "[9223372036854775808]", "[[1]]", "1", "null", "[1]\n[2"] {
            assert!(matches!(rows(page), Err(DriverError::Unreadable(_))), "{page}");
            assert!(matches!(last(page, 1), Err(DriverError::Unreadable(_))), "{page}");
        }
    }

    #[test]
    fn rejected_row_ends_the_page() {
        let mut rows_read = 0;
        let outcome = read("[1]\n[2]\n[3]", &mut |row| {
            rows_read += 1;
            if row.int(0)? == 2 { Err(DriverError::Unreadable("two".to_owned())) } else { Ok(()) }
        });
        assert_eq!(outcome, Err(DriverError::Unreadable("two".to_owned())));
        assert_eq!(rows_read, 2);
    }
}
