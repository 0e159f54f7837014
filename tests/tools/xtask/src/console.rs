//! Checks of the console by the tests in tests/blackbox/console: formatting and types of its page, and its behaviour in
//! a browser.

use anyhow::bail;

use crate::programs::{find, program, root};

/// Checks the console of the server of this tree, with its command line, which must have been built.
pub fn check() -> anyhow::Result<()> {
    for tool in ["node", "npm"] {
        if find(tool).is_none() {
            bail!("{tool} is not installed, which the tests of the console require");
        }
    }
    let Some(browser) = find("chromium") else {
        bail!("chromium is not installed, which the tests of the console require")
    };
    let programs = root().join("target/debug");
    let mut check = program(root().join("tests/blackbox/console/check"));
    check.env("CHROMIUM", &browser.display().to_string());
    for (variable, name) in [("TENURED", "tenured"), ("TENURE", "tenure")] {
        check.env(variable, &programs.join(name).display().to_string());
    }
    check.run()
}
