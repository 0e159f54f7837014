//! Formats tables, one line per row: at most as wide as the terminal, and complete in a pipe.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{Style, Tint};

/// The number of blanks between two columns.
const GAP: usize = 2;

/// The minimum width of a truncated text.
const MIN_WIDTH: usize = 6;

/// The width at which a truncated id can be distinguished from others.
pub const ID_WIDTH: usize = 13;

/// A column: its heading, and how it shrinks if space is short.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    heading: &'static str,
    rank: u8,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Id,
    Unbroken,
    Number,
}

/// A text column. Columns of `rank` 1 are always shown; of the others, the highest rank is truncated first, and omitted
/// if that is not enough.
pub const fn column(heading: &'static str, rank: u8) -> Column {
    Column { heading, rank, kind: Kind::Text }
}

/// Like a text column, but truncated in the middle: ids may differ only at their ends.
pub const fn ids(heading: &'static str, rank: u8) -> Column {
    Column { heading, rank, kind: Kind::Id }
}

/// Like a text column, but never truncated: a truncated time would read as another time.
pub const fn unbroken(heading: &'static str, rank: u8) -> Column {
    Column { heading, rank, kind: Kind::Unbroken }
}

/// A column of numbers or durations: right-aligned, and never truncated: a truncated number would read as another one.
pub const fn numbers(heading: &'static str, rank: u8) -> Column {
    Column { heading, rank, kind: Kind::Number }
}

/// A cell of a row.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    tint: Tint,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), tint: Tint::Plain }
    }
}

/// A cell in a colour.
pub fn tinted(text: impl Into<String>, tint: Tint) -> Cell {
    Cell { text: text.into(), tint }
}

/// Rows under headings.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// The table as text, in the look of the standard output.
    pub fn finish(&self) -> String {
        self.render(Style::of_stdout())
    }

    /// The table as text, without trailing blanks.
    pub fn render(&self, style: Style) -> String {
        let widths = self.fit(style.width);
        let headings: Vec<Cell> = self.columns.iter().map(|column| tinted(column.heading, Tint::Bold)).collect();
        let lines = std::iter::once(&headings).chain(&self.rows).map(|row| self.line(row, &widths, style));
        let mut text = lines.collect::<Vec<_>>().join("\n");
        let omitted = self.columns.iter().zip(&widths).filter(|(_, width)| width.is_none());
        let omitted: Vec<&str> = omitted.map(|(column, _)| column.heading).collect();
        if !omitted.is_empty() {
            let note = truncate(&format!("(no space for {})", omitted.join(", ")), style.width.unwrap_or(usize::MAX));
            text.push('\n');
            text.push_str(&style.paint(&note, Tint::Dim));
        }
        text
    }

    fn line(&self, row: &[Cell], widths: &[Option<usize>], style: Style) -> String {
        let mut line = String::new();
        // Blanks are written before the next text, so that lines have no trailing blanks.
        let mut blanks = 0;
        for ((cell, column), width) in row.iter().zip(&self.columns).zip(widths) {
            let Some(width) = *width else { continue };
            let shorten = if column.kind == Kind::Id { truncate_middle } else { truncate };
            let text = shorten(&cell.text, width);
            let rest = width - text.width();
            let (before, after) = if column.kind == Kind::Number { (rest, 0) } else { (0, rest) };
            blanks += before;
            if !text.is_empty() {
                line.extend(std::iter::repeat_n(' ', std::mem::take(&mut blanks)));
                line.push_str(&style.paint(&text, cell.tint));
            }
            blanks += after + GAP;
        }
        line
    }

    /// The widths of the columns; `None` for those omitted.
    fn fit(&self, limit: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> = (0..self.columns.len()).map(|at| Some(self.natural(at))).collect();
        let Some(limit) = limit else { return widths };
        // Neither long ids nor one long name may displace all other columns.
        for at in (0..widths.len()).filter(|at| self.columns[*at].kind == Kind::Id) {
            self.narrow(&mut widths, at, limit, ID_WIDTH);
        }
        for at in (0..widths.len()).filter(|at| self.columns[*at].kind == Kind::Text).rev() {
            self.narrow(&mut widths, at, limit, (limit / 2).max(MIN_WIDTH));
        }
        let mut order: Vec<usize> = (0..widths.len()).collect();
        order.sort_by_key(|at| self.columns[*at].rank);
        for &at in order.iter().rev() {
            if excess(&widths, limit) == 0 {
                break;
            }
            if matches!(self.columns[at].kind, Kind::Text | Kind::Id) {
                self.narrow(&mut widths, at, limit, MIN_WIDTH.max(self.columns[at].heading.width()));
            }
            if excess(&widths, limit) > 0 && self.columns[at].rank > 1 {
                widths[at] = None;
            }
        }
        // The terminal is too narrow even for the remaining columns.
        for at in (0..widths.len()).rev() {
            self.narrow(&mut widths, at, limit, 1);
        }
        // The remaining space goes to columns that were narrowed more than needed.
        for at in order {
            let available = limit.saturating_sub(total(&widths));
            widths[at] = widths[at].map(|width| self.natural(at).min(width + available));
        }
        widths
    }

    /// Narrows a column as much as needed, to no less than `floor`.
    fn narrow(&self, widths: &mut [Option<usize>], at: usize, limit: usize, floor: usize) {
        let excess = excess(widths, limit);
        if let Some(width) = widths[at] {
            widths[at] = Some(width.saturating_sub(excess).max(floor.min(width)));
        }
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
        cells.chain([self.columns[at].heading.width()]).max().unwrap_or(0)
    }
}

/// The width by which the columns exceed `limit`.
fn excess(widths: &[Option<usize>], limit: usize) -> usize {
    total(widths).saturating_sub(limit)
}

fn total(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1)
}

/// Truncates text to a width of `limit`, with an ellipsis if anything was cut.
pub fn truncate(text: &str, limit: usize) -> String {
    match limit {
        _ if text.width() <= limit => text.to_owned(),
        0 => String::new(),
        _ => fitting(text.chars(), limit - 1) + "…",
    }
}

/// Like `truncate`, but keeps both ends of the text.
pub fn truncate_middle(text: &str, limit: usize) -> String {
    if text.width() <= limit {
        return text.to_owned();
    }
    let end: String = fitting(text.chars().rev(), limit.saturating_sub(1) / 2).chars().rev().collect();
    truncate(text, limit - end.width()) + &end
}

/// The first characters, up to a total width of `available`.
fn fitting(chars: impl Iterator<Item = char>, mut available: usize) -> String {
    let fits = |char: char| {
        available = available.checked_sub(char.width().unwrap_or(0))?;
        Some(char)
    };
    chars.map_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([column("NAME", 1), column("OWNER", 2), numbers("TOKEN", 3), column("METADATA", 4)]);
        table.row(["nightly".into(), "host-a".into(), "7".into(), "addr=10.0.0.7 zone=b".into()]);
        table.row(["report".into(), "-".into(), "4711".into(), "-".into()]);
        table
    }

    fn at(width: usize) -> Vec<String> {
        let text = table().render(Style { width: Some(width), colours: false });
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn table_in_a_pipe_is_complete_with_numbers_to_the_right() {
        let text = table().render(Style::PIPE);
        assert_eq!(
            text,
            "NAME     OWNER   TOKEN  METADATA\n\
             nightly  host-a      7  addr=10.0.0.7 zone=b\n\
             report   -        4711  -"
        );
    }

    #[test]
    fn least_important_columns_are_shortened_and_then_omitted() {
        assert_eq!(at(44)[1], "nightly  host-a      7  addr=10.0.0.7 zone=b");
        assert_eq!(at(36)[1], "nightly  host-a      7  addr=10.0.0…");
        assert_eq!(at(31)[1..], ["nightly  host-a      7", "report   -        4711", "(no space for METADATA)"]);
        assert_eq!(at(16)[1..], ["nightly  host-a", "report   -", "(no space for T…"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut table = table();
        table.row(["한글".repeat(100).into(), "x".repeat(300).into(), u64::MAX.to_string().into(), "-".into()]);
        for width in 1..200 {
            let text = table.render(Style { width: Some(width), colours: false });
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert!(text.lines().all(|line| line.trim_end() == line), "{width}:\n{text}");
        }
    }

    #[test]
    fn one_long_name_leaves_width_for_the_others() {
        let mut table = table();
        table.row(["n".repeat(255).into(), "host-b".into(), "9".into(), "-".into()]);
        let text = table.render(Style { width: Some(80), colours: false });
        assert!(text.lines().nth(3).unwrap().contains("…  host-b      9"), "{text}");
    }

    #[test]
    fn ids_are_shortened_before_anything_is_left_out() {
        let mut table = Table::new([column("NAME", 1), ids("SESSION", 2), unbroken("SINCE", 3)]);
        table.row(["job".into(), "01a20f5e-bb3f-7766-b634-127ab0638584".into(), "2026-11-24T20:52:10Z".into()]);
        let at = |width| table.render(Style { width: Some(width), colours: false }).lines().nth(1).unwrap().to_owned();
        assert_eq!(at(41), "job   01a20f…638584  2026-11-24T20:52:10Z");
        assert_eq!(at(40), "job   01a20f5e-bb3f-776…634-127ab0638584");
    }

    #[test]
    fn colours_take_no_width() {
        let mut table = Table::new([column("STATE", 1), column("NAME", 1)]);
        table.row([tinted("held", Tint::Good), "a".into()]);
        let text = table.render(Style { width: None, colours: true });
        assert_eq!(text.lines().nth(1).unwrap(), "\u{1b}[32mheld\u{1b}[0m   a");
    }

    #[test]
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(truncate("한글한글", 6), "한글…");
        assert_eq!(truncate("abc", 3), "abc");
        assert_eq!(truncate("abc", 0), "");
        assert_eq!(truncate_middle("0199aaaa-1234", 7), "019…234");
        assert_eq!(truncate_middle("한글한글", 5), "한…글");
        assert_eq!(
            (truncate_middle("abc", 3), truncate_middle("abc", 1), truncate_middle("abc", 0)),
            ("abc".into(), "…".into(), String::new())
        );
    }
}
