//! The Helm chart, linted, rendered and checked without a cluster, by the tests in tests/static/chart.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::programs::{find, program, root};

/// helm, built from its sources. The version is part of the file name, so that versions are not confused.
const HELM: (&str, &str) = ("helm.sh/helm/v4/cmd/helm", "v4.2.4");

/// The installation folder of the tests' dependencies.
const HOME: &str = "target/tools/chart";

/// Checks the chart, with the server and the command line of this tree, which must have been built.
pub fn check() -> anyhow::Result<()> {
    let helm = helm()?;
    let python = python()?;
    let programs = root().join("target/debug");
    let mut tests = program(python);
    tests.args(["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests/static/chart"]);
    tests.env("HELM", &helm.display().to_string());
    for (variable, name) in [("TENURED", "tenured"), ("TENURE", "tenure")] {
        tests.env(variable, &programs.join(name).display().to_string());
    }
    tests.run()
}

/// Returns helm, and builds it if it is missing.
fn helm() -> anyhow::Result<PathBuf> {
    let (package, version) = HELM;
    let folder = root().join("target/tools").join(format!("helm-{version}"));
    let helm = folder.join("helm");
    if helm.is_file() {
        return Ok(helm);
    }
    let Some(go) = find("go") else { bail!("go is not installed: helm is built with it") };
    fs::create_dir_all(&folder)?;
    let mut install = program(go);
    // Without debug information, linking takes half the time.
    install.args(["install", "-ldflags", "-s -w", &format!("{package}@{version}")]);
    install.env("GOBIN", &folder.display().to_string());
    install.run().context("building helm")?;
    Ok(helm)
}

/// A Python with the packages locked in tests/static/chart.
fn python() -> anyhow::Result<PathBuf> {
    let (locked, home) = (root().join("tests/static/chart/requirements.lock"), root().join(HOME));
    let lock = fs::read(&locked)?;
    let python = home.join("bin/python");
    // Copied last, so that its presence proves a complete installation.
    let installed = home.join("installed.lock");
    if fs::read(&installed).is_ok_and(|of| of == lock) {
        return Ok(python);
    }
    let Some(system) = find("python3") else { bail!("python3 is not installed: the chart's tests are written in it") };
    program(system).args(["-m", "venv", "--clear"]).args([&home]).run()?;
    program(&python).args(["-m", "pip", "install", "--quiet", "--no-deps", "--requirement"]).args([&locked]).run()?;
    fs::write(installed, lock)?;
    Ok(python)
}
