//! Tests that the security page can be followed as written: certificates, a token, the policy, a server, and its
//! clients.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tenure_e2e::snippets::{Fence, fences};
use tenure_harness::{built, free_port, settings, wait_until};
use tokio::process::Command;

const PAGE: &str = "deploy/security.md";

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell in this folder that runs a snippet, in which only the port is changed.
fn shell(snippet: &Fence, folder: &Path, [port, admin_port]: [u16; 2]) -> Command {
    let mut command = Command::new("bash");
    let text = snippet.text.replace(":7420", &format!(":{port}"));
    command.args(["-eu", "-o", "pipefail", "-c", &text]).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    for name in settings() {
        command.env_remove(name);
    }
    let programs = built("tenured").unwrap().parent().unwrap().display().to_string();
    command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    command
        .env("HOME", folder)
        .env("TENURE_DATA_DIR", folder.join("data"))
        .env("TENURE_ADMIN_LISTEN", format!("127.0.0.1:{admin_port}"));
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn security_page_works_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = std::fs::read_to_string(root.join(PAGE)).unwrap();
    let policy = page.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let ports = [free_port().unwrap(), free_port().unwrap()];
    // The keys of an issuer are not available here.
    let snippets = fences(&root).unwrap().into_iter().filter(|fence| fence.page == Path::new(PAGE));
    let snippets = snippets.filter(|fence| !fence.text.contains("--jwt-keys"));
    let mut server = None;
    let mut run = 0;
    for snippet in snippets {
        if snippet.text.starts_with("tenured --listen") {
            let program = snippet.text.replacen("tenured", "exec tenured", 1);
            server = Some(shell(&Fence { text: program, ..snippet.clone() }, folder.path(), ports).spawn().unwrap());
            let check = Fence { text: "tenured healthcheck".to_owned(), ..snippet.clone() };
            let is_ready =
                async || shell(&check, folder.path(), ports).status().await.is_ok_and(|ended| ended.success());
            wait_until(PATIENCE, "the server is ready", is_ready).await;
            continue;
        }
        let output = shell(&snippet, folder.path(), ports).output().await.unwrap();
        let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "line {}: {printed}", snippet.line);
        run += 1;
    }
    assert!(run >= 3, "certificates, a token and clients");
    server.expect("the page starts a server").kill().await.unwrap();
}
