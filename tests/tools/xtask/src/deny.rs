//! Checks of the dependencies: by what cargo knows of them, and in the long form by cargo-deny, which takes minutes to
//! build.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::programs::{Program, cargo, cargo_tool, program, root};

/// The version to install if it is missing.
const VERSION: &str = "0.20.2";

/// What is checked of the rules of cargo-deny.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<String>,
}

/// Selects the Rust client without TLS.
const WITHOUT_TLS: [&str; 4] = ["--locked", "--package", "tenure-client", "--no-default-features"];

/// Checks licences, bans and sources by the rules of deny.toml, and that the Rust client depends on no TLS without its
/// feature.
pub fn check() -> anyhow::Result<()> {
    let tree = cargo(&["tree", "--edges", "normal", "--prefix", "none"]).args(WITHOUT_TLS).output()?;
    ensure!(!tree.contains("rustls"), "tenure-client depends on rustls without its feature \"tls\":\n{tree}");
    let rules: Rules = toml::from_str(&fs::read_to_string(root().join("deny.toml"))?).context("deny.toml")?;
    // Not `cargo metadata`: that also has what only features need that are not selected.
    let all = ["--target", "all", "--edges", "all", "--prefix", "none", "--format", "{p}|{l}|"];
    let packages = cargo(&["tree", "--locked", "--workspace"]).args(all).output()?;
    let wrong: BTreeSet<String> = packages.lines().filter_map(|package| violation(package, &rules)).collect();
    ensure!(wrong.is_empty(), "see deny.toml: {}", Vec::from_iter(wrong).join("; "));
    Ok(())
}

/// Checks the same, and known vulnerabilities if the advisory database is available, by cargo-deny; and that the Rust
/// client compiles without TLS.
pub fn check_by_cargo_deny() -> anyhow::Result<()> {
    cargo(&["check"]).args(WITHOUT_TLS).run()?;
    let deny = cargo_tool("cargo-deny", VERSION)?;
    run(&deny, &["check", "licenses", "bans", "sources"]).run()?;
    match run(&deny, &["fetch", "db"]).run() {
        Ok(()) => run(&deny, &["--offline", "check", "advisories"]).run(),
        Err(error) => {
            println!("known vulnerabilities are not checked, their database cannot be fetched: {error}");
            Ok(())
        }
    }
}

/// Why a package must not be depended on: a line of `cargo tree`, with its name, version, source unless that is
/// crates.io, and licence.
fn violation(package: &str, rules: &Rules) -> Option<String> {
    let mut parts = package.split('|');
    let (package, license) = (parts.next()?.replace(" (proc-macro)", ""), parts.next()?);
    let (name, rest) = package.split_once(' ')?;
    match rest.split_once(" (") {
        Some((_, source)) if source.starts_with('/') => return None,
        Some(_) => return Some(format!("{package} is not from crates.io")),
        None => {}
    }
    if rules.bans.deny.iter().any(|banned| banned == name) {
        return Some(format!("{name} is banned"));
    }
    let allowed: Vec<Licensee> = rules.licenses.allow.iter().filter_map(|name| Licensee::parse(name).ok()).collect();
    let is_allowed = Expression::parse_mode(license, ParseMode::LAX)
        .is_ok_and(|license| license.evaluate(|wanted| allowed.iter().any(|licensee| licensee.satisfies(wanted))));
    (!is_allowed).then(|| format!("the licence of {name} is not allowed: {license:?}"))
}

fn run(deny: &Path, arguments: &[&str]) -> Program {
    let mut program = program(deny);
    program.args(arguments);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_bans_and_sources_are_checked() {
        let rules = "[licenses]\nallow = ['MIT', 'Apache-2.0 WITH LLVM-exception']\n[bans]\ndeny = ['ring']";
        let rules: Rules = toml::from_str(rules).expect("they are rules");
        let violation = |package: &str| violation(package, &rules);
        assert_eq!(violation("own v1.0.0 (/folder)||"), None);
        for allowed in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "Apache-2.0 WITH LLVM-exception"] {
            assert_eq!(violation(&format!("a v1.0.0|{allowed}|")), None);
            assert_eq!(violation(&format!("a v1.0.0 (proc-macro)|{allowed}| (*)")), None);
        }
        for other in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "like MIT"] {
            let expected = format!("the licence of a is not allowed: {other:?}");
            assert_eq!(violation(&format!("a v1.0.0|{other}|")), Some(expected));
        }
        assert_eq!(violation("ring v1.0.0|MIT|"), Some("ring is banned".to_owned()));
        let expected = "a v1.0.0 (https://example.com/a#1) is not from crates.io".to_owned();
        assert_eq!(violation("a v1.0.0 (https://example.com/a#1)|MIT|"), Some(expected));
    }
}
