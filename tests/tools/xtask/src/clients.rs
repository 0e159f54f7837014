//! The clients in other languages: each has a script with all its checks.

use anyhow::bail;

use crate::programs::{find, program, root};

/// A client's folder in clients/, and its requirements besides Rust.
const CLIENTS: [(&str, &[&str]); 4] =
    [("go", &["go"]), ("python", &["python3"]), ("typescript", &["node", "npm"]), ("java", &["java", "mvn"])];

/// Checks these clients, or all, with a server of this tree, and databases. Fails at the end if one fails.
pub fn check(only: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = only.iter().find(|name| !CLIENTS.iter().any(|(client, _)| client == name)) {
        bail!("unknown client: {unknown}");
    }
    let programs = root().join("target/debug");
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    let mut failed = Vec::new();
    for (name, tools) in CLIENTS.into_iter().filter(|(name, _)| is_wanted(name)) {
        if let Some(missing) = tools.iter().find(|tool| find(tool).is_none()) {
            bail!("{missing} is not installed, which the {name} client requires");
        }
        println!("\n-- {name}");
        let mut check = program(programs.join("tenure-databases"));
        check.args([root().join("clients").join(name).join("check")]);
        check.env("TENURED", &programs.join("tenured").display().to_string());
        if let Err(error) = check.run() {
            failed.push(format!("{name}: {error:#}"));
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(())
}
