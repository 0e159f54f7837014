//! The checkable content of a page.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The last headings of tables whose last column names tests.
const TESTS: [&str; 2] = ["tests", "테스트"];

/// The start of the line before a table whose last column is code of a file.
const CODE_OF: &str = "<!-- code of: ";

/// A page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its path from the top, with slashes.
    pub path: String,
    /// The levels of its headings, in order.
    pub headings: Vec<u8>,
    /// The possible targets of a link's `#...`.
    pub anchors: BTreeSet<String>,
    /// Its links.
    pub links: Vec<Link>,
    /// Its code blocks, with their languages.
    pub code: Vec<(String, String)>,
    /// The number of rows of its tables, heads included.
    pub rows: Vec<usize>,
    /// Code without a link in the last column of a table of tests: the line and the code.
    pub unlinked: Vec<(usize, String)>,
    /// Code in the last column of a table of a file's code: the line, the file, and the code.
    pub quoted: Vec<(usize, String, String)>,
}

/// A link, or a picture.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The line in which it begins, from 1.
    pub line: usize,
    /// The target as written.
    pub target: String,
    /// The link's text, or the picture's alternative text.
    pub text: String,
    /// The text is only code: the name of something in the target.
    pub is_name: bool,
    /// It is in the last column of a table of tests.
    pub is_test: bool,
    /// It is a picture.
    pub is_picture: bool,
}

impl Page {
    /// Parses the page as GitHub renders it.
    pub fn parse(path: &str, text: &str) -> Self {
        let mut reader = Reader { page: Self { path: path.to_owned(), ..Self::default() }, ..Reader::default() };
        let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            reader.line = starts.partition_point(|start| *start <= range.start);
            reader.read(event);
        }
        reader.page
    }
}

/// The position in a page.
#[derive(Default)]
struct Reader {
    page: Page,
    line: usize,
    heading: Option<(u8, String)>,
    slugs: BTreeMap<String, usize>,
    /// Open links; pictures may be nested in links.
    open: Vec<Link>,
    code: Option<(String, String)>,
    /// The file named for the next table.
    code_of: Option<String>,
    table: Option<Table>,
}

#[derive(Default)]
struct Table {
    code_of: Option<String>,
    columns: usize,
    column: usize,
    rows: usize,
    is_head: bool,
    head: String,
    is_of_tests: bool,
}

impl Table {
    fn is_at_last(&self) -> bool {
        !self.is_head && self.column == self.columns
    }

    fn is_at_test(&self) -> bool {
        self.is_of_tests && self.is_at_last()
    }
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(&text, false),
            },
            Event::Code(text) => self.push(&text, true),
            Event::SoftBreak | Event::HardBreak => self.push(" ", false),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.heading = Some((depth(level), String::new())),
            Tag::Link { dest_url, .. } => self.link(&dest_url, false),
            Tag::Image { dest_url, .. } => self.link(&dest_url, true),
            Tag::CodeBlock(kind) => {
                let kind = match kind {
                    CodeBlockKind::Fenced(kind) => kind.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((kind, String::new()));
            }
            Tag::Table(columns) => {
                self.table = Some(Table { columns: columns.len(), code_of: self.code_of.take(), ..Table::default() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.is_head = tag == Tag::TableHead;
                    table.rows += 1;
                    table.column = 0;
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.column += 1;
                    table.head.clear();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                if let Some((level, text)) = self.heading.take() {
                    self.page.headings.push(level);
                    self.anchor(&text);
                }
            }
            TagEnd::Link | TagEnd::Image => self.page.links.extend(self.open.pop()),
            TagEnd::CodeBlock => self.page.code.extend(self.code.take()),
            TagEnd::TableHead => {
                if let Some(table) = &mut self.table {
                    table.is_of_tests = TESTS.contains(&table.head.trim());
                    table.is_head = false;
                }
            }
            TagEnd::Table => self.page.rows.extend(self.table.take().map(|table| table.rows)),
            _ => {}
        }
    }

    fn link(&mut self, target: &str, is_picture: bool) {
        let is_test = self.table.as_ref().is_some_and(Table::is_at_test);
        let (line, target) = (self.line, target.to_owned());
        self.open.push(Link { line, target, is_test, is_picture, ..Link::default() });
    }

    fn push(&mut self, text: &str, is_code: bool) {
        if let Some((_, heading)) = &mut self.heading {
            heading.push_str(text);
        }
        if let Some(table) = &mut self.table {
            table.head.push_str(text);
            if is_code && self.open.is_empty() && table.is_at_test() {
                self.page.unlinked.push((self.line, text.to_owned()));
            }
            if let Some(file) = table.code_of.as_ref().filter(|_| is_code && table.is_at_last()) {
                self.page.quoted.push((self.line, file.clone(), text.to_owned()));
            }
        }
        if let Some(link) = self.open.last_mut() {
            link.is_name = is_code && link.text.is_empty();
            link.text.push_str(text);
        }
    }

    /// GitHub's algorithm: characters other than letters and digits are dropped, blanks become hyphens, and repetitions
    /// are numbered.
    fn anchor(&mut self, heading: &str) {
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        let slug: String =
            kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let before = self.slugs.entry(slug.clone()).or_default();
        self.page.anchors.insert(if *before == 0 { slug } else { format!("{slug}-{before}") });
        *before += 1;
    }

    fn html(&mut self, html: &str) {
        if let Some(file) = html.trim().strip_prefix(CODE_OF).and_then(|rest| rest.strip_suffix(" -->")) {
            self.code_of = Some(file.to_owned());
        }
        for (attribute, is_picture) in [("href", false), ("src", true), ("srcset", true)] {
            let texts = if is_picture { values(html, "alt") } else { Vec::new() };
            for target in values(html, attribute) {
                let text = if is_picture { texts.join(" ") } else { target.clone() };
                self.page.links.push(Link { line: self.line, target, text, is_picture, ..Link::default() });
            }
        }
        for attribute in ["id", "name"] {
            self.page.anchors.extend(values(html, attribute));
        }
    }
}

/// The values of an HTML attribute.
fn values(html: &str, attribute: &str) -> Vec<String> {
    let begin = format!(" {attribute}=\"");
    html.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        let page = Page::parse(
            "a.md",
            "# What `x` is, and why\n## Again\n## Again\n### 무엇을 약속하나요?\n<a id=\"own\"></a>\n",
        );
        let anchors = ["what-x-is-and-why", "again", "again-1", "무엇을-약속하나요", "own"];
        assert_eq!(page.anchors, anchors.map(str::to_owned).into());
        assert_eq!(page.headings, [1, 2, 2, 3]);
    }

    #[test]
    fn links_in_code_are_ignored() {
        let page = Page::parse("a.md", "`[x](y)`\n\n```sh\n[x](y)\n```\n\n[`f`](g.rs) and ![a picture](p.svg)\n");
        let link = Link { line: 7, target: "g.rs".into(), text: "f".into(), is_name: true, ..Link::default() };
        let picture =
            Link { line: 7, target: "p.svg".into(), text: "a picture".into(), is_picture: true, ..Link::default() };
        assert_eq!(page.links, [link, picture]);
        assert_eq!(page.code, [("sh".to_owned(), "[x](y)\n".to_owned())]);
    }

    #[test]
    fn tables_of_tests_are_recognized_by_their_last_heading() {
        let page = Page::parse(
            "a.md",
            "| a | tests |\n|---|---|\n| `x` | [`t`](t.rs), `u` |\n\n| tests | a |\n|---|---|\n| b | `c` |\n",
        );
        assert_eq!(page.unlinked, [(3, "u".to_owned())]);
        assert!(page.links[0].is_test && page.links[0].is_name);
        assert_eq!(page.rows, [2, 2]);
    }

    #[test]
    fn tables_of_code_name_their_file() {
        let page = Page::parse(
            "a.md",
            "<!-- code of: b.rs -->\n\n| a | b |\n|---|---|\n| `x` | `y` z |\n\n| a |\n|---|\n| `b` |\n",
        );
        assert_eq!(page.quoted, [(5, "b.rs".to_owned(), "y".to_owned())]);
    }

    #[test]
    fn pictures_in_html_are_found() {
        let page = Page::parse("a.md", "<p align=\"center\"><img src=\"p.svg\" alt=\"what\"></p>\n");
        let picture =
            Link { line: 1, target: "p.svg".into(), text: "what".into(), is_picture: true, ..Link::default() };
        assert_eq!(page.links, [picture]);
    }
}
