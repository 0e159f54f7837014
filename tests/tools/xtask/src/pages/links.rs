//! Checks that links have valid targets.

use super::Tree;
use super::page::{Link, Page};

/// Addresses of the project itself, which are treated like relative links.
const PROJECT: [&str; 2] =
    ["https://github.com/tenure-lock/tenure/blob/main/", "https://github.com/tenure-lock/tenure/tree/main/"];

/// The errors in the links of a page.
pub fn check(tree: &Tree, page: &Page) -> Vec<String> {
    let mut wrong = Vec::new();
    for link in &page.links {
        let mut report = |what: &str| wrong.push(format!("{}:{}: {}: {what}", page.path, link.line, link.target));
        if let Err(problem) = resolve(tree, page, link) {
            report(&problem);
        }
        if link.is_picture && link.text.trim().is_empty() {
            report("the picture has no alternative text");
        }
    }
    wrong
}

fn resolve(tree: &Tree, page: &Page, link: &Link) -> Result<(), String> {
    let Some((path, anchor)) = inside(page, &link.target)? else { return Ok(()) };
    if !tree.paths.contains(&path) {
        return Err(format!("there is no {path}"));
    }
    match (anchor, tree.pages.get(&path)) {
        (Some(anchor), Some(page)) if !page.anchors.contains(anchor) => Err(format!("{path} has no #{anchor}")),
        (Some(anchor), None) => Err(format!("{path} is not a page, and has no #{anchor}")),
        _ => Ok(()),
    }
}

/// The path from the top to the target of a page's link, and the anchor. `None`: an external link.
pub fn inside<'link>(page: &Page, target: &'link str) -> Result<Option<(String, Option<&'link str>)>, String> {
    let ours = PROJECT.iter().find_map(|begin| target.strip_prefix(begin));
    if ours.is_none() && ["https://", "http://", "mailto:"].iter().any(|begin| target.starts_with(begin)) {
        return Ok(None);
    }
    let (target, from) = match ours {
        Some(path) => (path, Vec::new()),
        None => (target, page.path.split('/').collect()),
    };
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    if path.starts_with('/') {
        return Err("the path begins with a slash".into());
    }
    if path.is_empty() {
        return Ok(Some((page.path.clone(), anchor)));
    }
    let mut parts: Vec<&str> = from.into_iter().collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or("the path leaves the tree")?;
            }
            part => parts.push(part),
        }
    }
    Ok(Some((parts.join("/"), anchor)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The errors of a page in a folder, beside one with a heading.
    fn wrong(text: &str) -> Vec<String> {
        let files = ["README.md", "docs/a.md", "docs/code/main.rs"].map(str::to_owned).to_vec();
        let page = Page::parse("docs/a.md", text);
        let top = Page::parse("README.md", "# Top\n");
        let tree = Tree::new(files, BTreeMap::from([("README.md".to_owned(), top)]));
        check(&tree, &page)
    }

    #[test]
    fn links_to_existing_targets_are_accepted() {
        let text = "[up](../README.md#top) [code](code) [file](./code/main.rs) [top](..) [out](https://example.org/x#y)\n\
                    [whole](https://github.com/tenure-lock/tenure/blob/main/README.md#top)";
        assert_eq!(wrong(text), Vec::<String>::new());
    }

    #[test]
    fn links_to_missing_targets_are_reported() {
        let text = "[a](../README.md#bottom)\n[b](b.md)\n[c](code/main.rs#L1)\n[d](../../x)\n[e](/README.md)\n![](code)\n\
                    [g](https://github.com/tenure-lock/tenure/blob/main/gone.md)";
        let expected = [
            "docs/a.md:1: ../README.md#bottom: README.md has no #bottom",
            "docs/a.md:2: b.md: there is no docs/b.md",
            "docs/a.md:3: code/main.rs#L1: docs/code/main.rs is not a page, and has no #L1",
            "docs/a.md:4: ../../x: the path leaves the tree",
            "docs/a.md:5: /README.md: the path begins with a slash",
            "docs/a.md:6: code: the picture has no alternative text",
            "docs/a.md:7: https://github.com/tenure-lock/tenure/blob/main/gone.md: there is no gone.md",
        ];
        assert_eq!(wrong(text), expected);
    }
}
