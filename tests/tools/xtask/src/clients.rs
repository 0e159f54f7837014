//! The clients in other languages: each has a script with all its checks.

use anyhow::bail;

use crate::beside::Beside;
use crate::programs::{Program, find, program, root};

/// A client's folder in clients/, and its requirements besides Rust.
const CLIENTS: [(&str, &[&str]); 4] =
    [("go", &["go"]), ("python", &["python3"]), ("typescript", &["node", "npm"]), ("java", &["java", "mvn"])];

/// Checks these clients, or all, with a server of this tree, and databases. Fails at the end if one fails.
pub fn check(only: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = only.iter().find(|name| !CLIENTS.iter().any(|(client, _)| client == name)) {
        bail!("unknown client: {unknown}");
    }
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    let mut checks = Vec::new();
    for (name, tools) in CLIENTS.into_iter().filter(|(name, _)| is_wanted(name)) {
        if let Some(missing) = tools.iter().find(|tool| find(tool).is_none()) {
            bail!("{missing} is not installed, which the {name} client requires");
        }
        checks.push((name, check_of(name)));
    }
    let mut failed = Vec::new();
    let mut fail = |name, error| failed.push(format!("{name}: {error:#}"));
    // The first takes as long as the others together.
    let mut checks = checks.into_iter();
    let first = checks.next().map(|(name, check)| (name, Beside::start(name.to_owned(), check)));
    for (name, mut check) in checks {
        println!("\n-- {name}");
        check.run().unwrap_or_else(|error| fail(name, error));
    }
    if let Some((name, started)) = first {
        println!("\n-- {name}");
        started.and_then(Beside::finish).unwrap_or_else(|error| fail(name, error));
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(())
}

fn check_of(client: &str) -> Program {
    let programs = root().join("target/debug");
    let mut check = program(programs.join("tenure-databases"));
    check.args([root().join("clients").join(client).join("check")]);
    check.env("TENURED", &programs.join("tenured").display().to_string());
    check
}
