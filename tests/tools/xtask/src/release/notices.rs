//! The licences of the packages that are part of the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use crate::programs::cargo;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

/// A list of these packages with their licences, and each text of a licence once.
///
/// # Errors
/// If cargo does not know the dependencies.
pub(super) fn third_party() -> anyhow::Result<String> {
    let selected = ["--package", "tenure-server", "--package", "tenure-cli"];
    let tree = cargo(&["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(selected)
        .output()?;
    let used: BTreeSet<(&str, &str)> = tree.lines().filter_map(name_and_version).collect();
    let metadata = cargo(&["metadata", "--locked", "--format-version", "1"]).output()?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cargo metadata")?;
    let (mut list, mut texts) = (String::new(), BTreeMap::<String, Vec<String>>::new());
    for package in metadata.packages.iter().filter(|package| package.source.is_some()) {
        let Package { name, version, license, manifest_path, .. } = package;
        if used.contains(&(name.as_str(), version.as_str())) {
            list += &format!("{name} {version}: {}\n", license.as_deref().unwrap_or("see below"));
            for text in manifest_path.parent().map(texts_in).transpose()?.into_iter().flatten() {
                texts.entry(text).or_default().push(name.clone());
            }
        }
    }
    let texts = texts.into_iter().map(|(text, names)| format!("\n==== {}\n\n{}\n", names.join(", "), text.trim_end()));
    Ok(format!("Tenure's programs contain these packages:\n\n{list}{}", texts.collect::<String>()))
}

/// The name and version in a line of `cargo tree`.
fn name_and_version(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// The texts of licences and notices in a package.
fn texts_in(folder: &Path) -> anyhow::Result<Vec<String>> {
    const BEGINNINGS: [&str; 4] = ["licen", "copying", "notice", "copyright"];
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        path.is_file() && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    };
    let texts = paths.iter().filter(|path| is_text(path)).map(fs::read);
    texts.map(|text| Ok(String::from_utf8_lossy(&text?).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_name_each_package_and_have_its_text() {
        let notices = third_party().unwrap();
        assert!(notices.contains("\ntonic 0.14."), "{notices:.2000}");
        assert!(notices.contains("Copyright (c) Tokio Contributors"));
        assert!(!notices.contains("\nproptest "), "only the tests depend on it");
        assert!(!notices.contains("tenure-core"), "our own");
    }
}
