//! The pages' grpcurl lines, run as written.

use crate::apart::Apart;
use crate::programs::{find, program, root};

/// The version that the lines are checked with.
const GRPCURL: &str = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3";

/// Runs them, if there is Go to bring grpcurl.
pub fn check() -> anyhow::Result<()> {
    let Some(go) = find("go") else {
        println!("skipped: Go is not installed, which brings grpcurl");
        return Ok(());
    };
    let tools = root().join("target/tools");
    if !tools.join("grpcurl").is_file() {
        std::fs::create_dir_all(&tools)?;
        program(go).args(["install", GRPCURL]).env("GOBIN", &tools.display().to_string()).run()?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tools.display());
    Apart::build("tests/e2e")?.only("readme").run(&["--ignored"], &[("PATH", &path)])
}
