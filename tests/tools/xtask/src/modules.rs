//! Checks that imports are acyclic between the top-level modules of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, ItemMod, ItemUse, Meta, UseTree};

use crate::programs::{files, root};

/// The checked crates.
const SOURCES: [&str; 4] = ["server/src", "server/core/src", "client-rs/src", "client-rs/cli/src"];

/// The imports of each module, each with a file that contains it.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// Fails if modules import each other in a cycle, and names the files.
pub fn check() -> anyhow::Result<()> {
    for source in SOURCES {
        let graph = graph(&root().join(source))?;
        if let Some(cycle) = cycle(&graph) {
            bail!("modules of {source} import each other in a cycle: {cycle}");
        }
    }
    Ok(())
}

fn graph(source: &Path) -> anyhow::Result<Graph> {
    let mut modules = BTreeSet::new();
    for entry in fs::read_dir(source).with_context(|| source.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !["lib", "main"].contains(&name.as_str()) {
            modules.insert(name);
        }
    }
    let exported = exported(&syn::parse_file(&fs::read_to_string(source.join("lib.rs"))?)?);
    let mut graph = Graph::new();
    for name in &modules {
        let imports = graph.entry(name.clone()).or_default();
        let file = source.join(name).with_extension("rs");
        if file.exists() {
            read(source, &file, &mut |target| add(imports, name, &modules, &exported, target, &file))?;
        }
        for file in files(&source.join(name), &["rs"])?.into_iter().filter(|file| !is_of_tests(source, file)) {
            read(source, &file, &mut |target| add(imports, name, &modules, &exported, target, &file))?;
        }
    }
    Ok(graph)
}

/// Whether a file below `source` is `tests.rs` or in a folder `tests`.
fn is_of_tests(source: &Path, file: &Path) -> bool {
    let below = file.strip_prefix(source).unwrap_or(file);
    below.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

fn add(
    imports: &mut BTreeMap<String, String>,
    name: &str,
    modules: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
    target: String,
    file: &Path,
) {
    let target = exported.get(&target).cloned().unwrap_or(target);
    if target != name && modules.contains(&target) {
        imports.entry(target).or_insert_with(|| file.display().to_string());
    }
}

/// The names exported by the crate's root, and their modules.
fn exported(root: &syn::File) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for item in &root.items {
        if let Item::Use(item) = item {
            for path in paths(&item.tree) {
                let path: Vec<String> = path.iter().map(ToString::to_string).collect();
                let path: Vec<&String> =
                    path.iter().filter(|part| !["crate", "self"].contains(&part.as_str())).collect();
                if let (Some(module), Some(name)) = (path.first(), path.last()) {
                    all.insert((*name).clone(), (*module).clone());
                }
            }
        }
    }
    all
}

/// Calls `found` with the first name below the crate's root of each path in a file.
fn read(source: &Path, file: &Path, found: &mut dyn FnMut(String)) -> anyhow::Result<()> {
    let name = || file.display().to_string();
    let parsed = syn::parse_file(&fs::read_to_string(file).with_context(name)?).with_context(name)?;
    let below = file.strip_prefix(source)?.components().count();
    let depth = if file.ends_with("mod.rs") { below - 1 } else { below };
    Reader { depth, found }.visit_file(&parsed);
    Ok(())
}

struct Reader<'a> {
    /// The number of `super` from here to the crate's root.
    depth: usize,
    found: &'a mut dyn FnMut(String),
}

impl Reader<'_> {
    fn take<'i>(&mut self, mut path: impl Iterator<Item = &'i Ident>) {
        let mut up = 0;
        let first = path.next();
        let mut next = first;
        if first.is_some_and(|first| first == "crate") {
            next = path.next();
            up = self.depth;
        } else {
            while next.is_some_and(|part| part == "super") {
                up += 1;
                next = path.next();
            }
        }
        if let Some(next) = next.filter(|_| up > 0 && up == self.depth) {
            (self.found)(next.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_test(&item.attrs) {
            paths(&item.tree).iter().for_each(|path| self.take(path.iter()));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.take(path.segments.iter().map(|segment| &segment.ident));
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            self.depth += 1;
            visit::visit_item_mod(self, item);
            self.depth -= 1;
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |meta: &Meta| matches!(meta, Meta::List(list) if list.tokens.to_string() == "test");
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") && is_test(&attribute.meta))
}

/// The paths in a tree of imports.
fn paths(tree: &UseTree) -> Vec<Vec<Ident>> {
    match tree {
        UseTree::Path(path) => {
            let below = paths(&path.tree).into_iter();
            below.map(|below| [vec![path.ident.clone()], below].concat()).collect()
        }
        UseTree::Name(name) => vec![vec![name.ident.clone()]],
        UseTree::Rename(name) => vec![vec![name.ident.clone()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(paths).collect(),
    }
}

/// A cycle, if there is one, with a file for each of its imports.
fn cycle(graph: &Graph) -> Option<String> {
    let mut done = BTreeSet::new();
    graph.keys().find_map(|name| walk(graph, name, &mut Vec::new(), &mut done))
}

fn walk<'g>(graph: &'g Graph, name: &'g str, path: &mut Vec<&'g str>, done: &mut BTreeSet<&'g str>) -> Option<String> {
    if let Some(begin) = path.iter().position(|before| *before == name) {
        let cycle = &path[begin..];
        let steps = cycle.iter().zip(cycle.iter().skip(1).chain([&name]));
        let step = |(from, to): (&&str, &&str)| format!("{from} -> {to} ({})", graph[*from][*to]);
        return Some(steps.map(step).collect::<Vec<_>>().join(", "));
    }
    if done.contains(name) {
        return None;
    }
    path.push(name);
    let found = graph.get(name).and_then(|imports| imports.keys().find_map(|to| walk(graph, to, path, done)));
    path.pop();
    done.insert(name);
    found
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn sources(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let path = folder.path().to_owned();
        (folder, path)
    }

    #[test]
    fn cycle_is_found_for_each_form_of_path() {
        let root = ("lib.rs", "mod a; mod b; pub use b::Thing;");
        let imports = [
            "use crate::b::X;",
            "use super::b;",
            "fn f() { crate::b::g() }",
            "use crate::{c, b::{X, Y}};",
            "use crate::Thing;",
        ];
        for import in imports {
            let (_folder, path) =
                sources(&[root, ("a.rs", import), ("b/mod.rs", "mod deep;"), ("b/deep.rs", "use super::super::a;")]);
            let found = cycle(&graph(&path).unwrap()).unwrap_or_else(|| panic!("{import}"));
            assert!(found.starts_with("a -> b (") && found.contains("b -> a ("), "{found}");
        }
    }

    #[test]
    fn one_direction_is_no_cycle_and_imports_of_tests_are_ignored() {
        let (_folder, path) = sources(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b; use crate::a::own; use std::b;"),
            ("b.rs", "#[cfg(test)] mod tests { use crate::a; } fn f() { self::a(); }"),
            ("b/tests.rs", "use crate::a;"),
            ("b/tests/deep.rs", "use crate::a;"),
        ]);
        assert_eq!(cycle(&graph(&path).unwrap()), None);
    }
}
