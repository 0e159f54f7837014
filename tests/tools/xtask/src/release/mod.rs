//! Everything that a release consists of, in one folder: programs, packages of the clients, chart, contract, and the
//! evidence of what they were made of.

mod clients;
mod debian;
mod evidence;
mod image;
mod links;
mod notices;
mod platform;
mod programs;
mod prove;
pub mod version;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::programs::{program, root};
use crate::stages::Stages;
use crate::{chart, contract};
use platform::Platform;

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

/// The packages with a page for their registry, which knows nothing of the tree. Go's has the tree.
const PAGED: [&str; 3] = ["client-rs", "clients/python", "clients/typescript"];

#[derive(Args)]
pub struct Release {
    /// The version to release: that of the tree, which `cargo xtask version` sets.
    #[arg(long)]
    version: String,
    /// Does not install what was made, and runs nothing of it.
    #[arg(long)]
    no_proof: bool,
    /// Makes everything once more in another folder, and compares the bytes.
    #[arg(long)]
    twice: bool,
    /// Makes the base of the image of Debian's packages, as `cargo xtask container --from-packages` does.
    #[arg(long)]
    from_packages: bool,
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
    /// Where the programs are built: at the top of this tree, which has their earlier builds, or in `tree`.
    source: PathBuf,
    from_packages: bool,
}

type Part = (&'static str, fn(&Making) -> anyhow::Result<()>);

/// What is made, in this order.
const PARTS: [Part; 10] = [
    ("programs", programs::make),
    ("debian package", debian::make),
    ("image", image::make),
    ("crates", clients::crates),
    ("go modules", clients::go),
    ("python packages", clients::python),
    ("maven artifacts", clients::java),
    ("npm package", clients::typescript),
    ("chart and contract", charts_and_contract),
    ("evidence", evidence::make),
];

/// The parts that are made quickly, since they need no build of the programs.
const PACKAGES: [Part; 5] = [
    ("crates", clients::crates),
    ("go modules", clients::go),
    ("python packages", clients::python),
    ("npm package", clients::typescript),
    ("chart and contract", charts_and_contract),
];

/// Makes a release of the last commit in `target/release-VERSION`, and proves each part where nothing of this
/// repository is.
pub fn make(options: &Release) -> anyhow::Result<()> {
    let version = version::of_tree()?;
    ensure!(options.version == version, "the tree has version {version}: `cargo xtask version {}`", options.version);
    let git = |arguments: &[&str]| program("git").args(arguments).output().map(|text| text.trim().to_owned());
    let changed = git(&["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "what is released is what is committed, but these files are not:\n{changed}");
    let commit = git(&["rev-parse", "HEAD"])?;
    let into = root().join(format!("target/release-{version}"));
    let mut making = Making::start(version, commit, into)?;
    making.from_packages = options.from_packages;
    let mut run = Stages::default();
    let mut is_made = true;
    for (name, part) in PARTS {
        is_made &= run.stage(name, || part(&making));
    }
    if is_made && options.twice {
        run.stage("the same bytes", || making.is_repeated());
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

/// Makes the packages that take no build of the programs, of this tree as it is.
pub fn check() -> anyhow::Result<()> {
    let changed = program("git").args(["stash", "create"]).output()?;
    let commit = if changed.is_empty() { "HEAD" } else { changed.trim() };
    let making = Making::start(version::of_tree()?, commit.to_owned(), root().join("target/packages"))?;
    for (name, part) in PACKAGES {
        println!("\n-- {name}");
        part(&making).context(name)?;
    }
    Ok(fs::remove_dir_all(&making.into)?)
}

impl Making {
    fn start(version: String, commit: String, into: PathBuf) -> anyhow::Result<Self> {
        let epoch = program("git").args(["log", "-1", "--format=%ct", &commit]).output()?.trim().to_owned();
        let time = program("date").args(["--utc", "--date", &format!("@{epoch}"), "+%Y-%m-%dT%H:%M:%SZ"]).output()?;
        let tree = into.join("tree");
        if into.exists() {
            fs::remove_dir_all(&into).with_context(|| into.display().to_string())?;
        }
        fs::create_dir_all(&tree)?;
        let time = time.trim().to_owned();
        let making = Self { version, commit, epoch, time, into, tree, source: root(), from_packages: false };
        making.notes()?;
        let files = making.into.join("tree.tar");
        program("git").args(["archive", "--output"]).args([&files]).args([&making.commit]).run()?;
        program("tar").args(["-xf"]).args([&files]).args(["-C"]).args([&making.tree]).run()?;
        fs::remove_file(files)?;
        // Each package has a copy of the licence.
        for package in LICENSED {
            fs::copy(making.tree.join("LICENSE"), making.tree.join(package).join("LICENSE"))?;
        }
        let at = format!("https://github.com/tenure-lock/tenure/blob/v{}/", making.version);
        for package in PAGED {
            let page = making.tree.join(package).join("README.md");
            let text = fs::read_to_string(&page)?;
            fs::write(&page, links::absolute(&text, &at, package))?;
        }
        Ok(making)
    }

    /// Makes everything again in another folder, and compares it.
    fn is_repeated(&self) -> anyhow::Result<()> {
        let into = self.into.with_file_name(format!("release-{}-again", self.version));
        let mut again = Self::start(self.version.clone(), self.commit.clone(), into)?;
        (again.source, again.from_packages) = (again.tree.clone(), self.from_packages);
        for (name, part) in PARTS {
            part(&again).context(name)?;
        }
        let sums = |making: &Self| fs::read_to_string(making.into.join("SHA256SUMS"));
        let (first, second) = (sums(self)?, sums(&again)?);
        let differ: Vec<&str> = first.lines().filter(|line| !second.lines().any(|other| other == *line)).collect();
        ensure!(differ.is_empty(), "{} is kept; these files differ:\n{}", again.into.display(), differ.join("\n"));
        println!("{} files have the same bytes", first.lines().count());
        Ok(fs::remove_dir_all(again.into)?)
    }

    /// A program that was built.
    fn program(&self, platform: &Platform, name: &str) -> PathBuf {
        self.source.join(programs::BUILT).join(platform.target).join("release").join(name)
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
pub fn pack(folder: &Path, into: &Path) -> anyhow::Result<()> {
    let (parent, name) = (folder.parent().context("no parent")?, folder.file_name().context("no name")?);
    archive(parent, name, into, &["--use-compress-program=gzip -n"])
}

/// Archives a file or folder in a folder, such that the same files give the same bytes.
fn archive(folder: &Path, name: impl AsRef<OsStr>, into: &Path, options: &[&str]) -> anyhow::Result<()> {
    let mut tar = program("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]).args(options);
    tar.args(["-cf"]).args([into]).args(["-C"]).args([folder]).args([name]).run()
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
