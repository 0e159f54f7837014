//! Rows in the text format of PostgreSQL's `COPY`, the fastest way to insert them: a line for each row, with tabs
//! between the values.

use std::fmt::Write as _;

use crate::store::sql::{Arg, Table};

/// The statement that precedes the lines.
pub(crate) fn copy(table: &Table) -> String {
    format!("COPY {} ({}) FROM STDIN", table.name, table.columns.join(", "))
}

/// Encodes rows as lines.
pub(crate) fn lines(table: &Table, cells: &[Arg<'_>]) -> Vec<u8> {
    let mut lines = String::new();
    for row in cells.chunks(table.columns.len()) {
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                lines.push('\t');
            }
            match cell {
                Arg::Null => lines.push_str("\\N"),
                Arg::Int(value) => drop(write!(lines, "{value}")),
                Arg::Text(text) => push_text(&mut lines, text),
            }
        }
        lines.push('\n');
    }
    lines.into_bytes()
}

fn push_text(lines: &mut String, text: &str) {
    let mut rest = text;
    while let Some(index) = rest.bytes().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r')) {
        lines.push_str(&rest[..index]);
        lines.push_str(match rest.as_bytes()[index] {
            b'\t' => "\\t",
            b'\n' => "\\n",
            b'\r' => "\\r",
            _ => "\\\\",
        });
        rest = &rest[index + 1..];
    }
    lines.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let table = Table { name: "t", columns: &["namespace", "id", "note"] };
        let odd = "\\N\t\n\r\\.é\u{8}";
        let cells = [Arg::Text("n"), Arg::Int(-1), Arg::Null, Arg::Text(""), Arg::Int(2), Arg::Text(odd)];
        assert_eq!(copy(&table), "COPY t (namespace, id, note) FROM STDIN");
        let expected = "n\t-1\t\\N\n\t2\t\\\\N\\t\\n\\r\\\\.é\u{8}\n";
        assert_eq!(String::from_utf8(lines(&table, &cells)).unwrap(), expected);
    }
}
