//! Quick checks of the changes, in minutes, for daily work; `cargo xtask test` has the rest.

use crate::programs::{linted, program};

/// The test programs of the crates, and the folders whose changes affect them.
const TESTS: [(&str, &[&str]); 4] = [
    ("core", &["server/core/"]),
    ("server", &["server/", "migrations/", "proto/", "client-rs/proto/"]),
    ("client", &["client-rs/", "proto/", "server/core/", "server/src/"]),
    ("cli", &["client-rs/", "proto/"]),
];

/// Runs the unit tests of all crates, and the test programs of those that have changed since the last commit, or in
/// that commit if nothing has changed since.
pub fn tests() -> anyhow::Result<()> {
    let since = |commit: &str| program("git").args(["diff", "--name-only", commit]).output();
    let new = program("git").args(["ls-files", "--others", "--exclude-standard"]).output()?;
    let mut changed = since("HEAD")? + &new;
    if changed.is_empty() {
        changed = since("HEAD~1")?;
    }
    let mut run = linted(&["test", "--locked", "--workspace", "--lib"]);
    for test in concerned(&changed) {
        run.args(["--test", test]);
    }
    run.run()
}

/// The test programs affected by a change of one of these files.
fn concerned(changed: &str) -> Vec<&'static str> {
    let notices = |folders: &[&str]| changed.lines().any(|file| folders.iter().any(|folder| file.starts_with(folder)));
    TESTS.iter().filter(|(_, folders)| notices(folders)).map(|(test, _)| *test).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_those_of_what_has_changed() {
        assert_eq!(concerned("README.md\nclients/go/tenure.go\n"), [""; 0]);
        assert_eq!(concerned("server/src/lib.rs\n"), ["server", "client"]);
        assert_eq!(concerned("README.md\nserver/core/src/table.rs\n"), ["core", "server", "client"]);
        assert_eq!(concerned("client-rs/cli/src/main.rs\n"), ["client", "cli"]);
    }
}
