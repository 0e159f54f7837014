//! Runs the shell snippets of the README and all other pages as written, and the C++ program of the contract's page.

use std::path::PathBuf;

use crate::apart::Apart;
use crate::programs::{find, program, root};

/// The version of grpcurl for the snippets.
const GRPCURL: &str = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3";

/// Runs the snippets and the program. Snippets with grpcurl only if Go is available to install it.
pub fn check() -> anyhow::Result<()> {
    let tools = root().join("target/tools");
    let mut has_grpcurl = tools.join("grpcurl").is_file();
    if !has_grpcurl {
        match find("go") {
            Some(go) => {
                std::fs::create_dir_all(&tools)?;
                program(go).args(["install", GRPCURL]).env("GOBIN", &tools.display().to_string()).run()?;
                has_grpcurl = true;
            }
            None => println!("skipped: snippets with grpcurl, which Go would install"),
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tools.display());
    let has_grpcurl = if has_grpcurl { "yes" } else { "no" };
    let hold = hold()?.display().to_string();
    let environment = [("PATH", path.as_str()), ("TENURE_E2E_GRPCURL", has_grpcurl), ("TENURE_E2E_HOLD", &hold)];
    Apart::build("tests/blackbox/e2e")?.run(&["snippets::", "stubs::", "--ignored"], &environment)
}

/// Builds the C++ program, unless it is up to date, and returns its path.
fn hold() -> anyhow::Result<PathBuf> {
    let folder = root().join("target/tools/cpp");
    let out = format!("OUT={}", folder.display());
    program("make").args(["-j2", "--directory=proto/examples/cpp", &out]).run()?;
    Ok(folder.join("hold"))
}
