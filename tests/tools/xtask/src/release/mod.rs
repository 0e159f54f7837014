//! Everything that a release consists of, in one folder: programs, packages of the clients, chart, contract, and the
//! evidence of what they were made of.

mod clients;
mod debian;
mod evidence;
mod notices;
mod programs;
mod prove;
pub mod version;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::programs::{program, root};
use crate::stages::Stages;
use crate::{chart, contract};

/// The page of changes, by versions.
const CHANGES: &str = "deploy/changelog.md";

/// The packages that are given the licence's text.
const LICENSED: [&str; 7] = [
    "client-rs",
    "client-rs/proto",
    "client-rs/fence",
    "clients/go",
    "clients/go/leaderelection",
    "clients/python",
    "clients/typescript",
];

#[derive(Args)]
pub struct Release {
    /// The version to release: that of the tree, which `cargo xtask version` sets.
    #[arg(long)]
    version: String,
    /// Does not install what was made, and runs nothing of it.
    #[arg(long)]
    no_proof: bool,
}

/// A release in the making.
struct Making {
    version: String,
    /// The commit that it is made of.
    commit: String,
    /// The time of the commit, in seconds since 1970: that of all files which have to have one.
    epoch: String,
    /// The same, by RFC 3339.
    time: String,
    /// What is released.
    into: PathBuf,
    /// The files of the commit, where packages are made.
    tree: PathBuf,
}

type Part = (&'static str, fn(&Making) -> anyhow::Result<()>);

/// What is made, in this order.
const PARTS: [Part; 9] = [
    ("programs", programs::make),
    ("debian package", debian::make),
    ("crates", clients::crates),
    ("go modules", clients::go),
    ("python packages", clients::python),
    ("maven artifacts", clients::java),
    ("npm package", clients::typescript),
    ("chart and contract", charts_and_contract),
    ("evidence", evidence::make),
];

/// Makes a release of the last commit in `target/release-VERSION`, and proves each part where nothing of this
/// repository is.
pub fn make(options: &Release) -> anyhow::Result<()> {
    let version = version::of_tree()?;
    ensure!(options.version == version, "the tree has version {version}: `cargo xtask version {}`", options.version);
    let making = Making::start(version)?;
    let mut run = Stages::default();
    let mut is_made = true;
    for (name, part) in PARTS {
        is_made &= run.stage(name, || part(&making));
    }
    if is_made && !options.no_proof {
        for part in prove::PARTS {
            run.stage(&format!("proof of {part}"), || prove::prove(&making, part));
        }
    }
    println!("\n{}", making.into.display());
    run.finish()?;
    Ok(fs::remove_dir_all(&making.tree)?)
}

impl Making {
    fn start(version: String) -> anyhow::Result<Self> {
        let git = |arguments: &[&str]| program("git").args(arguments).output().map(|text| text.trim().to_owned());
        let changed = git(&["status", "--porcelain"])?;
        ensure!(changed.is_empty(), "what is released is what is committed, but these files are not:\n{changed}");
        let commit = git(&["rev-parse", "HEAD"])?;
        let epoch = git(&["log", "-1", "--format=%ct"])?;
        let time = program("date").args(["--utc", "--date", &format!("@{epoch}"), "+%Y-%m-%dT%H:%M:%SZ"]).output()?;
        let into = root().join(format!("target/release-{version}"));
        let tree = into.join("tree");
        if into.exists() {
            fs::remove_dir_all(&into).with_context(|| into.display().to_string())?;
        }
        fs::create_dir_all(&tree)?;
        let making = Self { version, commit, epoch, time: time.trim().to_owned(), into, tree };
        making.notes()?;
        let files = making.into.join("tree.tar");
        program("git").args(["archive", "--output"]).args([&files]).args(["HEAD"]).run()?;
        program("tar").args(["-xf"]).args([&files]).args(["-C"]).args([&making.tree]).run()?;
        fs::remove_file(files)?;
        // Each package has a copy of the licence.
        for package in LICENSED {
            fs::copy(making.tree.join("LICENSE"), making.tree.join(package).join("LICENSE"))?;
        }
        Ok(making)
    }

    /// Writes the notes of the release: what the page of changes says of this version.
    fn notes(&self) -> anyhow::Result<()> {
        let page = fs::read_to_string(root().join(CHANGES)).context(CHANGES)?;
        let notes = section(&page, &self.version);
        let Some(notes) = notes else { bail!("{CHANGES} says nothing of {}", self.version) };
        Ok(fs::write(self.into.join("notes.md"), notes)?)
    }

    /// A new folder among what is released.
    fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.into.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

/// The text below a heading of the second level that begins with these words.
fn section(page: &str, heading: &str) -> Option<String> {
    let mut lines = page
        .lines()
        .skip_while(|line| line.strip_prefix("## ").and_then(|text| text.split(' ').next()) != Some(heading));
    lines.next()?;
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    let text = text.join("\n").trim().to_owned();
    (!text.is_empty()).then(|| text + "\n")
}

fn charts_and_contract(making: &Making) -> anyhow::Result<()> {
    let helm = chart::helm()?;
    program(helm)
        .args(["package", "--destination"])
        .args([making.folder("chart")?, making.tree.join("deploy/helm/tenure")])
        .run()?;
    contract::release(&making.tree.join("proto"), &making.folder("proto")?, &making.version)
}

/// Packs a folder, such that the same files give the same bytes.
pub fn pack(folder: &Path, archive: &Path) -> anyhow::Result<()> {
    let (parent, name) = (folder.parent().context("no parent")?, folder.file_name().context("no name")?);
    let mut tar = program("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
        "--use-compress-program=gzip -n",
        "-cf",
    ]);
    tar.args([archive]).args(["-C"]).args([parent]).args([name]).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_section_of_the_version() {
        let page = "# Changes\n\n## 1.1.0\n\nnew\n\n## 1.0.0 (2026-01-02)\n\nold\n\n### more\n\nx\n";
        assert_eq!(section(page, "1.1.0").as_deref(), Some("new\n"));
        assert_eq!(section(page, "1.0.0").as_deref(), Some("old\n\n### more\n\nx\n"));
        assert_eq!(section(page, "1.0"), None);
        assert_eq!(section("## 1.0.0\n\n", "1.0.0"), None, "nothing is said");
    }
}
