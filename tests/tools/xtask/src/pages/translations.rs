//! Checks that translations keep up with their originals: they have the same headings, tables, code and pictures.
//!
//! They are in `clients/guides/ko`: `README.md` translates that of the whole project, all others the guide of the same
//! name.

use super::Tree;
use super::links::inside;
use super::page::Page;

const GUIDES: &str = "clients/guides/";
const FOLDER: &str = "clients/guides/ko/";

/// The number of translations. Errors are appended to `wrong`.
pub fn check(tree: &Tree, wrong: &mut Vec<String>) -> usize {
    let guides = tree.pages.keys().filter_map(|path| path.strip_prefix(GUIDES)).filter(|name| !name.contains('/'));
    for name in guides.filter(|name| !tree.pages.contains_key(&format!("{FOLDER}{name}"))) {
        wrong.push(format!("{GUIDES}{name}: there is no {FOLDER}{name}"));
    }
    let mut count = 0;
    for (path, translation) in &tree.pages {
        let Some(name) = path.strip_prefix(FOLDER) else { continue };
        let original = if name == "README.md" { name.to_owned() } else { format!("{GUIDES}{name}") };
        match tree.pages.get(&original) {
            Some(original) => wrong.extend(compare(original, translation)),
            None => wrong.push(format!("{path}: there is no original {original}")),
        }
        count += 1;
    }
    count
}

fn compare(original: &Page, translation: &Page) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut report = |what: String| wrong.push(format!("{}: unlike in {}, {what}", translation.path, original.path));
    if original.headings != translation.headings {
        report(format!("headings are {:?}, not {:?}", translation.headings, original.headings));
    }
    if original.rows != translation.rows {
        report(format!("tables have {:?} rows, not {:?}", translation.rows, original.rows));
    }
    if original.code.len() != translation.code.len() {
        report(format!("there are {} code blocks, not {}", translation.code.len(), original.code.len()));
    }
    for (number, (is, should)) in translation.code.iter().zip(&original.code).enumerate() {
        if is != should {
            report(format!("code block {} differs: {}", number + 1, is.1.lines().next().unwrap_or_default()));
        }
    }
    if pictures(original) != pictures(translation) {
        report("the pictures differ".into());
    }
    for (from, to) in [(original, translation), (translation, original)] {
        if !targets(from).any(|path| path == to.path) {
            report(format!("{} has no link to {}", from.path, to.path));
        }
    }
    wrong
}

fn targets(page: &Page) -> impl Iterator<Item = String> {
    page.links.iter().filter_map(|link| inside(page, &link.target).ok().flatten()).map(|(path, _)| path)
}

fn pictures(page: &Page) -> Vec<String> {
    let pictures = page.links.iter().filter(|link| link.is_picture);
    pictures.filter_map(|link| inside(page, &link.target).ok().flatten()).map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ORIGINAL: &str = "# Title\n[한국어](ko/a.md)\n\n![p](p.svg)\n\n```sh\nls\n```\n\n| a |\n|---|\n| b |\n";
    const TRANSLATION: &str =
        "# 제목\n[English](../a.md)\n\n![그림](../p.svg)\n\n```sh\nls\n```\n\n| 가 |\n|---|\n| 나 |\n";

    fn wrong(pages: &[(&str, &str)]) -> Vec<String> {
        let parsed = pages.iter().map(|(path, text)| ((*path).to_owned(), Page::parse(path, text)));
        let tree = Tree::new(Vec::new(), BTreeMap::from_iter(parsed));
        let mut wrong = Vec::new();
        check(&tree, &mut wrong);
        wrong
    }

    fn wrong_with(translation: &str) -> Vec<String> {
        wrong(&[("clients/guides/a.md", ORIGINAL), ("clients/guides/ko/a.md", translation)])
    }

    #[test]
    fn complete_translation_is_accepted() {
        assert_eq!(wrong_with(TRANSLATION), Vec::<String>::new());
    }

    #[test]
    fn differences_from_the_original_are_reported() {
        for (from, to, what) in [
            ("# 제목\n", "", "headings are"),
            ("| 나 |\n", "", "tables have"),
            ("ls\n", "ll\n", "code block 1 differs: ll"),
            ("![그림](../p.svg)", "", "the pictures differ"),
            ("(../a.md)", "(a.md)", "has no link to clients/guides/a.md"),
        ] {
            let wrong = wrong_with(&TRANSLATION.replace(from, to));
            assert!(wrong.len() == 1 && wrong[0].contains(what), "{wrong:?}");
        }
    }

    #[test]
    fn guide_without_translation_and_translation_without_guide_are_reported() {
        let wrong = wrong(&[("clients/guides/a.md", ORIGINAL), ("clients/guides/ko/b.md", TRANSLATION)]);
        let expected = [
            "clients/guides/a.md: there is no clients/guides/ko/a.md",
            "clients/guides/ko/b.md: there is no original clients/guides/b.md",
        ];
        assert_eq!(wrong, expected);
    }
}
