//! Checks of the dependencies.

use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::programs::{Program, cargo, find, program, root};

/// The version to install if it is missing.
const VERSION: &str = "0.20.2";

/// Checks that the Rust client can be used without TLS, licences, bans and sources, and known vulnerabilities if the
/// advisory database is available.
pub fn check() -> anyhow::Result<()> {
    let without_tls = ["--locked", "--package", "tenure-client", "--no-default-features"];
    cargo(&["check"]).args(without_tls).run()?;
    let tree = cargo(&["tree", "--edges", "normal", "--prefix", "none"]).args(without_tls).output()?;
    ensure!(!tree.contains("rustls"), "tenure-client depends on rustls without its feature \"tls\":\n{tree}");
    let deny = provide()?;
    run(&deny, &["check", "licenses", "bans", "sources"]).run()?;
    match run(&deny, &["fetch", "db"]).run() {
        Ok(()) => run(&deny, &["--offline", "check", "advisories"]).run(),
        Err(error) => {
            println!("known vulnerabilities are not checked, their database cannot be fetched: {error}");
            Ok(())
        }
    }
}

fn run(deny: &Path, arguments: &[&str]) -> Program {
    let mut program = program(deny);
    program.args(arguments);
    program
}

/// Returns cargo-deny, and installs it into the target folder if it is missing.
fn provide() -> anyhow::Result<PathBuf> {
    let tools = root().join("target/tools");
    let own = tools.join("bin/cargo-deny");
    if let Some(found) = find("cargo-deny").or_else(|| own.is_file().then(|| own.clone())) {
        return Ok(found);
    }
    cargo(&["install", "--locked", "--debug", "--version", VERSION, "cargo-deny", "--root"]).args([&tools]).run()?;
    Ok(own)
}
