//! What we depend on.

use std::path::{Path, PathBuf};

use crate::programs::{Program, cargo, find, program, root};

/// The version that is installed where there is none.
const VERSION: &str = "0.20.2";

/// Checks licences, bans and sources; and known weaknesses, where the database of them can be had.
pub fn check() -> anyhow::Result<()> {
    let deny = provide()?;
    run(&deny, &["check", "licenses", "bans", "sources"]).run()?;
    match run(&deny, &["fetch", "db"]).run() {
        Ok(()) => run(&deny, &["--offline", "check", "advisories"]).run(),
        Err(error) => {
            println!("not checked for known weaknesses, whose database cannot be had from here: {error}");
            Ok(())
        }
    }
}

fn run(deny: &Path, arguments: &[&str]) -> Program {
    let mut program = program(deny);
    program.args(arguments);
    program
}

/// cargo-deny, which is installed into the target folder if it is nowhere else.
fn provide() -> anyhow::Result<PathBuf> {
    let tools = root().join("target/tools");
    let own = tools.join("bin/cargo-deny");
    if let Some(found) = find("cargo-deny").or_else(|| own.is_file().then(|| own.clone())) {
        return Ok(found);
    }
    cargo(&["install", "--locked", "--debug", "--version", VERSION, "cargo-deny", "--root"]).args([&tools]).run()?;
    Ok(own)
}
