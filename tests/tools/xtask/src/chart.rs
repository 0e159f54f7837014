//! The Helm chart, linted, rendered and checked without a cluster, by the tests in tests/static/chart.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::programs::{find, program, root, venv};

/// helm, built from its sources. The version is part of the file name, so that versions are not confused.
const HELM: (&str, &str) = ("helm.sh/helm/v4/cmd/helm", "v4.2.4");

/// The installation folder of the tests' dependencies.
const HOME: &str = "target/tools/chart";

/// Checks the chart, with the server and the command line of this tree, which must have been built.
pub fn check() -> anyhow::Result<()> {
    let helm = helm()?;
    // A Python with the packages locked in tests/static/chart.
    let home = root().join(HOME);
    venv(&home, &root().join("tests/static/chart/requirements.lock"))?;
    let programs = root().join("target/debug");
    let mut tests = program(home.join("bin/python"));
    tests.args(["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests/static/chart"]);
    tests.env("HELM", &helm.display().to_string());
    for (variable, name) in [("TENURED", "tenured"), ("TENURE", "tenure")] {
        tests.env(variable, &programs.join(name).display().to_string());
    }
    tests.run()
}

/// Returns helm, and builds it if it is missing.
pub fn helm() -> anyhow::Result<PathBuf> {
    let (package, version) = HELM;
    let folder = root().join("target/tools").join(format!("helm-{version}"));
    let helm = folder.join("helm");
    fs::create_dir_all(&folder)?;
    // Another stage may build it at the same time.
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    if helm.is_file() {
        return Ok(helm);
    }
    let Some(go) = find("go") else { bail!("go is not installed: helm is built with it") };
    let mut install = program(go);
    // Without optimizations and debug information, this takes half the time.
    install.args(["install", "-gcflags=all=-N -l", "-ldflags=-s -w", &format!("{package}@{version}")]);
    install.env("GOBIN", &folder.display().to_string());
    install.run().context("building helm")?;
    Ok(helm)
}
