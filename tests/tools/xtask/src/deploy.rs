//! Checks of the deployment files, each by the program that reads it, or by a linter for that program.

use std::fs;

use anyhow::{Context, ensure};

use crate::programs::{Program, find, program, root, venv};

/// The installation folder of the linters, at the versions of the lock file in tests/tools/xtask/deploy.
const LINTERS: &str = "target/tools/deploy";

/// The maximum exposure that systemd may report, in tenths, of 100.
const EXPOSURE: &str = "--threshold=15";

/// Checks all files.
pub fn check() -> anyhow::Result<()> {
    let linter = install()?;
    linter("hadolint").args(["--failure-threshold", "info", "deploy/image/Dockerfile"]).run()?;
    dockerfile_agrees()?;
    let compose = ["sqlite", "postgres", "mysql"].map(|name| format!("deploy/compose/{name}.yaml"));
    linter("check-jsonschema").args(["--builtin-schema", "vendor.compose-spec"]).args(&compose).run()?;
    if program("docker").args(["compose", "version"]).output().is_ok() {
        for file in &compose {
            program("docker").args(["compose", "--file", file, "config", "--quiet"]).run()?;
        }
    }
    program(find("haproxy").context("haproxy is not installed")?)
        .args(["-c", "-f", "deploy/compose/haproxy.cfg"])
        .run()?;
    unit()
}

/// Checks that the Dockerfile has the versions of the toolchain and of the workspace.
fn dockerfile_agrees() -> anyhow::Result<()> {
    let read = |file: &str| fs::read_to_string(root().join(file)).with_context(|| format!("reading {file}"));
    let quoted = |text: &str, key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('"')?.strip_suffix('"'));
        value.map(str::to_owned).with_context(|| format!("there is no {key}"))
    };
    let channel = quoted(&read("rust-toolchain.toml")?, "channel =")?;
    let version = quoted(&read("Cargo.toml")?, "version =")?;
    let dockerfile = read("deploy/image/Dockerfile")?;
    for line in [format!("ARG BUILD_IMAGE=docker.io/library/rust:{channel}-bookworm"), format!("ARG VERSION={version}")]
    {
        ensure!(dockerfile.lines().any(|there| there == line), "deploy/image/Dockerfile must have the line {line}");
    }
    Ok(())
}

/// Checks that the unit is valid and sandboxes its service. It names a program that is not installed here; the built
/// one replaces it.
fn unit() -> anyhow::Result<()> {
    const SHIPPED: &str = "ExecStart=/usr/local/bin/tenured\n";
    let text = fs::read_to_string(root().join("deploy/systemd/tenured.service"))?;
    ensure!(text.contains(SHIPPED), "tenured.service must have the line {SHIPPED}");
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("tenured.service");
    let built = format!("ExecStart={}\n", root().join("target/debug/tenured").display());
    fs::write(&file, text.replace(SHIPPED, &built))?;
    let analyze = find("systemd-analyze").context("systemd is not installed")?;
    program(&analyze).args(["verify", "--man=no", "--recursive-errors=no"]).args([&file]).run()?;
    program(&analyze).args(["security", "--no-pager", "--offline=true", EXPOSURE]).args([&file]).run()
}

/// Installs the linters, if they are missing.
fn install() -> anyhow::Result<impl Fn(&str) -> Program> {
    let home = root().join(LINTERS);
    venv(&home, &root().join("tests/tools/xtask/deploy/requirements.lock"))?;
    let bin = home.join("bin");
    Ok(move |name: &str| program(bin.join(name)))
}
