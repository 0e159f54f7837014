//! Checks that code named by a page is in the named file, above all the tests that prove promises.
//!
//! A link whose text is code names something in its target file, unless it names the file itself. In tables whose last
//! heading is "tests", all code in the last column is such a link, and names a test. For a table that follows the line
//! `<!-- code of: FILE -->`, all calls in the last column are in FILE (relative to the page's folder), ignoring blanks.

use super::links::inside;
use super::page::{Link, Page};

/// The number of tests that a page names. Errors are appended to `wrong`.
pub fn check(page: &Page, read: &mut dyn FnMut(&str) -> Option<String>, wrong: &mut Vec<String>) -> usize {
    let mut count = 0;
    for (line, name) in &page.unlinked {
        wrong.push(format!("{}:{line}: {name}: this test has no link to its file", page.path));
    }
    for (line, file, code) in page.quoted.iter().filter(|(.., code)| code.contains('(')) {
        let text = inside(page, file).ok().flatten().and_then(|(path, _)| read(&path)).unwrap_or_default();
        if !without_blanks(&text).contains(&without_blanks(code)) {
            wrong.push(format!("{}:{line}: {file} has no {code}", page.path));
        }
    }
    for link in page.links.iter().filter(|link| link.is_name) {
        // Broken links are reported by the check of links.
        let Ok(Some((path, _))) = inside(page, &link.target) else { continue };
        let Some(text) = read(&path) else { continue };
        if !path.ends_with(link.text.trim_end_matches('/')) && !has(&path, &text, link) {
            wrong.push(format!("{}:{}: {path} has no {}", page.path, link.line, link.text));
        }
        count += usize::from(link.is_test);
    }
    count
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Whether a file contains the name in a link.
fn has(path: &str, text: &str, link: &Link) -> bool {
    let name = link.text.as_str();
    if link.is_test && path.ends_with(".rs") {
        return text
            .split("fn ")
            .skip(1)
            .any(|rest| rest.strip_prefix(name).is_some_and(|end| end.starts_with(['(', '<'])));
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_part);
        let after = text[at + name.len()..].chars().next().is_some_and(is_part);
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_all(text: &str) -> (usize, Vec<String>) {
        let page = Page::parse("a.md", text);
        let mut wrong = Vec::new();
        let file = "struct Sequencer;\nasync fn one_holds() {}\nfn calls() { two_hold(); }\n";
        let count = check(&page, &mut |path| path.ends_with("t.rs").then(|| file.to_owned()), &mut wrong);
        (count, wrong)
    }

    #[test]
    fn existing_test_is_counted() {
        let (count, wrong) = check_all(
            "| what | tests |\n|---|---|\n| a | [`one_holds`](src/t.rs) |\n\n[`Sequencer`](t.rs) [`src/t.rs`](src/t.rs)\n",
        );
        assert_eq!((count, wrong), (1, Vec::new()));
    }

    #[test]
    fn quoted_code_is_found_regardless_of_line_breaks() {
        let text = "<!-- code of: src/t.rs -->\n\n| theirs | ours |\n|---|---|\n| `x()` | `fn calls() {two_hold();}` |\n| `y` | `z()`, `w` |\n";
        assert_eq!(check_all(text).1, ["a.md:6: src/t.rs has no z()"]);
    }

    #[test]
    fn called_function_and_missing_name_are_reported() {
        let text =
            "| what | tests |\n|---|---|\n| a | [`two_hold`](t.rs) |\n| b | `one_holds` |\n\n[`Sequence`](t.rs)\n";
        let expected = [
            "a.md:4: one_holds: this test has no link to its file",
            "a.md:3: t.rs has no two_hold",
            "a.md:6: t.rs has no Sequence",
        ];
        assert_eq!(check_all(text).1, expected);
    }
}
