//! A page of rows as one JSON text, for a database that takes longer to return a row than to find it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use super::connection::{Cell, DriverError, Each, Row};

/// Passes the rows of a page, a JSON array of arrays, to `each` one by one. Texts are copied only if they contain
/// escapes.
pub(crate) fn read(json: &str, each: &mut Each<'_>) -> Result<(), DriverError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_seq(Page(each)).map_err(|error| DriverError::Unreadable(error.to_string()))
}

struct Page<'p, 'e>(&'p mut Each<'e>);

impl<'de> Visitor<'de> for Page<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(cells) = rows.next_element()? {
            (self.0)(&Row(cells)).map_err(|error| A::Error::custom(error.reason()))?;
        }
        Ok(())
    }
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
        assert_eq!(rows(r#"[[9223372036854775807,null,"a\"b\n"],[-1,"é"]]"#).unwrap(), expected);
        assert_eq!(rows("[]").unwrap(), []);
    }

    #[test]
    fn malformed_page_is_rejected() {
        for json in ["", "[[1]", "[[1.5]]", "[[9223372036854775808]]", "[[[1]]]", "[1]", "null"] {
            assert!(matches!(rows(json), Err(DriverError::Unreadable(_))), "{json}");
        }
    }

    #[test]
    fn rejected_row_ends_the_page() {
        let mut rows_read = 0;
        let outcome = read("[[1],[2],[3]]", &mut |row| {
            rows_read += 1;
            if row.int(0)? == 2 { Err(DriverError::Unreadable("two".to_owned())) } else { Ok(()) }
        });
        assert!(matches!(outcome, Err(DriverError::Unreadable(reason)) if reason.starts_with("two")));
        assert_eq!(rows_read, 2);
    }
}
