//! Checks of the pages, every `*.md` of the tree: their references exist, and translations match their originals.

mod links;
mod named;
mod page;
mod translations;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, bail};

use crate::programs::{program, root};

use page::Page;

/// The files of the tree, and the pages among them.
pub struct Tree {
    /// Files and folders, from the top, with slashes.
    paths: BTreeSet<String>,
    pages: BTreeMap<String, Page>,
}

impl Tree {
    /// Reads the committed and the untracked files.
    fn read() -> anyhow::Result<Self> {
        let mut pages = BTreeMap::new();
        let files = files()?;
        for file in files.iter().filter(|file| file.ends_with(".md")) {
            let text = fs::read_to_string(root().join(file)).with_context(|| file.clone())?;
            pages.insert(file.clone(), Page::parse(file, &text));
        }
        Ok(Self::new(files, pages))
    }

    fn new(files: Vec<String>, pages: BTreeMap<String, Page>) -> Self {
        let mut paths = BTreeSet::from([String::new()]);
        for file in files {
            let folders = file.char_indices().filter(|(_, letter)| *letter == '/');
            paths.extend(folders.map(|(end, _)| file[..end].to_owned()));
            paths.insert(file);
        }
        Self { paths, pages }
    }
}

/// The committed files and those that would be committed, without deleted ones.
fn files() -> anyhow::Result<Vec<String>> {
    let listed = program("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).output()?;
    let names = listed.split_terminator('\0').filter(|name| root().join(name).is_file());
    Ok(names.map(str::to_owned).collect())
}

/// The paths of the pages, from the top.
pub fn names() -> anyhow::Result<Vec<String>> {
    Ok(files()?.into_iter().filter(|file| file.ends_with(".md")).collect())
}

/// Checks that all references of the pages exist.
pub fn check() -> anyhow::Result<()> {
    let tree = Tree::read()?;
    let mut wrong = Vec::new();
    let mut links = 0;
    let mut tests = 0;
    for page in tree.pages.values() {
        links += page.links.len();
        wrong.extend(links::check(&tree, page));
        tests += named::check(page, &mut |file| fs::read_to_string(root().join(file)).ok(), &mut wrong);
    }
    let translations = translations::check(&tree, &mut wrong);
    if !wrong.is_empty() {
        bail!("{} errors in pages:\n{}", wrong.len(), wrong.join("\n"));
    }
    let count = tree.pages.len();
    println!("{count} pages: {links} links, {tests} named tests and {translations} translations are valid");
    Ok(())
}
