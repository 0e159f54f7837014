//! The tests that depend on a database, with each version of the databases. The version is chosen by `PATH`, in which
//! the tests look for a database's programs first.

use std::env::consts::ARCH;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::apart::Apart;
use crate::packages::postgres;
use crate::packages::unstable::MARIADB;
use crate::programs::{linted, program, root};

/// Which versions.
#[derive(Args)]
pub struct Engines {
    /// Only those whose name contains one of these, such as `mysql` or `postgres-18`. Default: all.
    only: Vec<String>,
}

/// A series of versions of a database, by the name that tests have for the database.
struct Engine {
    database: &'static str,
    series: &'static str,
}

const ENGINES: [Engine; 8] = [
    Engine { database: "mysql", series: "9.7" },
    Engine { database: "mariadb", series: "10.11" },
    Engine { database: "mariadb", series: "11.8" },
    Engine { database: "postgres", series: "14" },
    Engine { database: "postgres", series: "15" },
    Engine { database: "postgres", series: "16" },
    Engine { database: "postgres", series: "17" },
    Engine { database: "postgres", series: "18" },
];

/// Tests of PostgreSQL that do not have its name.
const OF_POSTGRES: [&str; 4] = ["pgbouncer", "hidden_identity::", "hints_resume", "writable_host"];

/// Columns of the table: a name, the program of tests, and the start of the tests' names.
const PARTS: [(&str, Tests, &[&str]); 5] = [
    ("stores, views", STORES, &["mysql::", "postgres::", "hidden_identity::"]),
    ("migrations, settings", STORES, &["opening::", "hosts::"]),
    ("outages", STORES, &["recovery::", "interrupted::", "frozen::", "limits::"]),
    ("fence", FENCE, &[""]),
    ("leader, crashes, restore", E2E, &["leader::", "crashes::", "restore::"]),
];

/// A program of tests: the folder of its package, and its name.
type Tests = (&'static str, &'static str);

const STORES: Tests = ("tests/blackbox/conformance", "stores");
const FENCE: Tests = ("client-rs/fence", "fence");
const E2E: Tests = ("tests/blackbox/e2e", "e2e");

/// The programs that the tests and this module run.
const PROGRAMS: [&str; 3] = ["tenured", "tenure", "tenure-database-version"];

impl Engine {
    fn name(&self) -> String {
        format!("{}-{}", self.database, self.series)
    }

    /// Whether a test depends on this database.
    fn is_tested_by(&self, test: &str) -> bool {
        match self.database {
            "postgres" => test.contains("postgres") || OF_POSTGRES.iter().any(|part| test.contains(part)),
            // A module of tests of both has the name of one.
            "mysql" => test.contains("mysql") && !test.contains("mariadb"),
            other => test.contains(other),
        }
    }

    /// Puts its programs, if they are not the machine's own, where users that databases run as have access, and returns
    /// their folders.
    fn provide(&self, place: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let tools = root().join("target/tools");
        if self.name() == MARIADB.folder {
            MARIADB.provide()?;
            let copy = copy(&tools.join(MARIADB.folder), &place.join(MARIADB.folder))?;
            return Ok(vec![make_runnable(&copy)?]);
        }
        let version = postgres::PROGRAMS.iter().find(|(version, _)| self.name() == format!("postgres-{version}"));
        let Some((_, folders)) = version else { return Ok(Vec::new()) };
        postgres::provide()?;
        // All of it: programs find their libraries relative to their own place.
        copy(&tools.join(postgres::FOLDER), &place.join(postgres::FOLDER))?;
        Ok(folders.iter().map(|folder| place.join(folder).join("bin")).collect())
    }

    /// Provides it, in a folder of its own.
    fn place(&self) -> anyhow::Result<Placed> {
        let folder = TempDir::new()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let mut path = self.provide(folder.path())?;
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(path)?.into_string().ok().context("PATH is not UTF-8")?;
        Ok(Placed { path, _folder: folder })
    }
}

/// A version that was provided.
pub struct Placed {
    /// The search path of programs, with its own first.
    pub path: String,
    _folder: TempDir,
}

/// Provides the newest PostgreSQL.
pub fn newest_postgres() -> anyhow::Result<Placed> {
    let newest = ENGINES.iter().rfind(|engine| engine.database == "postgres");
    newest.context("there is no PostgreSQL")?.place()
}

/// Runs the tests, and prints a row for each version. Fails at the end if one failed.
pub fn run(engines: &Engines) -> anyhow::Result<()> {
    let is_meant =
        |engine: &&Engine| engines.only.is_empty() || engines.only.iter().any(|of| engine.name().contains(of));
    // Together with the tests: for programs alone cargo would select other features, and rebuild most of it.
    let tests = [STORES, FENCE, E2E].into_iter().flat_map(|(_, name)| ["--test", name]);
    let programs = PROGRAMS.into_iter().flat_map(|name| ["--bin", name]);
    linted(&["build", "--locked", "--workspace"]).args(tests.chain(programs)).run()?;
    let build = |(_, (folder, name), _): &(_, Tests, _)| Apart::build_one(folder, name);
    let parts = PARTS.iter().map(build).collect::<anyhow::Result<Vec<_>>>()?;
    let heads = PARTS.map(|(name, ..)| name).join(" | ");
    let mut table = format!("| database | version | {heads} |\n|---|---|{}\n", "---|".repeat(PARTS.len()));
    let mut failed = Vec::new();
    for engine in ENGINES.iter().filter(is_meant) {
        match test(engine, &parts, &mut failed) {
            Ok(row) => writeln!(table, "{row}")?,
            Err(error) => failed.push(format!("{}: {error:#}", engine.name())),
        }
    }
    println!("\n{table}");
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Runs the tests with one version, and returns its row.
fn test(engine: &Engine, parts: &[Apart], failed: &mut Vec<String>) -> anyhow::Result<String> {
    let placed = engine.place()?;
    let path = placed.path.as_str();
    let environment = [("PATH", path), ("RUST_TEST_THREADS", "4"), ("TENURE_E2E_TRIES", "3")];
    let version = program(root().join("target/debug/tenure-database-version"))
        .args([engine.database])
        .env("PATH", path)
        .output()?;
    let version = version.trim();
    ensure!(version.starts_with(engine.series), "the database is {version}");
    let mut row = format!("| {} {} | {version} |", engine.database, engine.series);
    for (part, (name, _, starts)) in parts.iter().zip(PARTS) {
        println!("\n==== {} ({version}): {name}", engine.name());
        let is_meant = |test: &str| engine.is_tested_by(test) && starts.iter().any(|start| test.starts_with(start));
        match part.run_named(is_meant, &environment) {
            Ok(0) => bail!("no test of {name} is found"),
            Ok(count) => write!(row, " {count} |")?,
            Err(error) => {
                failed.push(format!("{}, {name}: {error:#}", engine.name()));
                row.push_str(" failed |");
            }
        }
    }
    Ok(row)
}

/// Copies a folder so that every user can read it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<PathBuf> {
    program("cp").args(["--archive".as_ref(), from.as_os_str(), to.as_os_str()]).run()?;
    program("chmod").args(["--recursive".as_ref(), "a+rX".as_ref(), to.as_os_str()]).run()?;
    Ok(to.to_owned())
}

/// Makes an unpacked MariaDB look like an installed one, whose programs are run by its own loader, with its own
/// libraries.
fn make_runnable(installation: &Path) -> anyhow::Result<PathBuf> {
    let libraries = installation.join(format!("usr/lib/{ARCH}-linux-gnu"));
    let loader = entries(&libraries)?.into_iter().find(|file| starts_with(file, &["ld-linux-"]));
    let loader = loader.with_context(|| format!("there is no loader in {}", libraries.display()))?;
    let folder = installation.join("bin");
    fs::create_dir(&folder)?;
    for (link, to) in [("sbin", "bin"), ("share", "usr/share"), ("lib", "usr/lib")] {
        symlink(to, installation.join(link))?;
    }
    // Not all: perl is there as well, and other programs are to run by that of the machine.
    let is_its_own = |file: &PathBuf| starts_with(file, &["mariadb", "my_print_defaults", "resolveip"]);
    for place in ["usr/bin", "usr/sbin"] {
        for program in entries(&installation.join(place))?.into_iter().filter(is_its_own) {
            let file = folder.join(program.file_name().unwrap_or_default());
            if fs::read(&program)?.starts_with(b"#!") {
                fs::copy(&program, &file)?;
                continue;
            }
            let (loader, libraries, program) = (loader.display(), libraries.display(), program.display());
            fs::write(&file, format!("#!/bin/sh\nexec {loader} --library-path {libraries} {program} \"$@\"\n"))?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(folder)
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

fn starts_with(file: &Path, any: &[&str]) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    any.iter().any(|start| name.starts_with(start))
}
