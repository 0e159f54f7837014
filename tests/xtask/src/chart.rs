//! The Helm chart: linted, rendered and checked without a cluster, by the tests in tests/chart.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::programs::{find, program, root};

/// The helm that is installed, from its sources. Its name has the version, so that another one is not taken for it.
const HELM: (&str, &str) = ("helm.sh/helm/v4/cmd/helm", "v4.2.4");

/// Where what the tests are written with is installed.
const HOME: &str = "target/tools/chart";

/// Checks the chart, with the server and the command line of this tree. They must have been built.
pub fn check() -> anyhow::Result<()> {
    let helm = helm()?;
    let python = python()?;
    let programs = root().join("target/debug");
    let mut tests = program(python);
    tests.args(["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests/chart"]);
    tests.env("HELM", &helm.display().to_string());
    for (variable, name) in [("TENURED", "tenured"), ("TENURE", "tenure")] {
        tests.env(variable, &programs.join(name).display().to_string());
    }
    tests.run()
}

/// helm, which is built if it is not there.
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
    // Without what only a debugger wants, linking takes half the time.
    install.args(["install", "-ldflags", "-s -w", &format!("{package}@{version}")]);
    install.env("GOBIN", &folder.display().to_string());
    install.run().context("building helm")?;
    Ok(helm)
}

/// A Python that has what is locked in tests/chart.
fn python() -> anyhow::Result<PathBuf> {
    let (locked, home) = (root().join("tests/chart/requirements.lock"), root().join(HOME));
    let lock = fs::read(&locked)?;
    let python = home.join("bin/python");
    // Copied last, after a complete installation: so it tells what is there.
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
