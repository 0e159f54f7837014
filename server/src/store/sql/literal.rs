//! Statements with their arguments inlined as literals, for use where one round trip must suffice and the database's
//! protocol has no safe or fast enough way to prepare statements.

use super::connection::Arg;
use super::statements::Table;

/// Replaces `$1`, `$2` and so on by arguments. `quote` begins a text in which a backslash is an escape: `'` or `E'`. The
/// statement is part of Tenure, and uses `$` for nothing else.
pub(crate) fn with_literals(sql: &str, args: &[Arg<'_>], quote: &str) -> String {
    let texts = args.iter().map(|arg| if let Arg::Text(text) = arg { text.len() } else { 0 }).sum::<usize>();
    let mut written = String::with_capacity(sql.len() + texts + texts / 4 + args.len() * 20);
    let mut parts = sql.split('$');
    written.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (number, rest) = part.split_at(part.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(part.len()));
        match number.parse::<usize>().ok().and_then(|number| args.get(number.checked_sub(1)?)) {
            Some(arg) => push(&mut written, *arg, quote),
            None => written.extend(["$", number]),
        }
        written.push_str(rest);
    }
    written
}

/// A statement that inserts the rows in `cells`, which has values for all columns of the table. `quote` as in
/// [`with_literals`].
pub(crate) fn insert(table: &Table, cells: &[Arg<'_>], quote: &str) -> String {
    let mut written = format!("INSERT INTO {} ({}) VALUES ", table.name, table.columns.join(", "));
    for (index, row) in cells.chunks(table.columns.len()).enumerate() {
        written.push_str(if index == 0 { "(" } else { ", (" });
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                written.push_str(", ");
            }
            push(&mut written, *cell, quote);
        }
        written.push(')');
    }
    written
}

fn push(written: &mut String, arg: Arg<'_>, quote: &str) {
    match arg {
        Arg::Null => written.push_str("NULL"),
        Arg::Int(value) => written.push_str(&format!("({value})")),
        Arg::Text(text) => push_text(written, text, quote),
    }
}

fn push_text(written: &mut String, text: &str, quote: &str) {
    written.push_str(quote);
    for sign in text.chars() {
        if matches!(sign, '\'' | '\\') {
            written.push(sign);
        }
        written.push(sign);
    }
    written.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_by_literals() {
        let args = [Arg::Int(-7), Arg::Text("a")];
        assert_eq!(with_literals("x = $1 AND y = $2", &args, "'"), "x = (-7) AND y = 'a'");
        assert_eq!(with_literals("$2, $1, $2", &args, "E'"), "E'a', (-7), E'a'");
        let many: Vec<Arg<'_>> = (1..=12).map(Arg::Int).collect();
        assert_eq!(with_literals("$12 $1", &many, "E'"), "(12) (1)");
    }

    #[test]
    fn insert_has_all_columns_of_its_rows() {
        let table = Table { name: "t", columns: &["namespace", "id", "note"] };
        let rows = [Arg::Text("n"), Arg::Int(1), Arg::Null, Arg::Text("n"), Arg::Int(-2), Arg::Text("it's")];
        let expected = "INSERT INTO t (namespace, id, note) VALUES ('n', (1), NULL), ('n', (-2), 'it''s')";
        assert_eq!(insert(&table, &rows, "'"), expected);
    }

    #[test]
    fn literal_of_a_text_is_escaped() {
        let injection = [Arg::Text("'; DROP TABLE x; -- \\' $1 \\")];
        assert_eq!(with_literals("SELECT $1", &injection, "'"), "SELECT '''; DROP TABLE x; -- \\\\'' $1 \\\\'");
    }
}
