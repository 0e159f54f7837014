//! A server with tokens and a policy.

use std::process::Command;

use tempfile::TempDir;
use tenure_abuse::Target;
use tenure_harness::{TenuredOptions, built};

/// The permissions of the healthy client: everything.
const ROOT: &str = r#"
    [[roles.root]]
    verbs = ["acquire", "read", "watch", "operate"]
    [[grants]]
    identity = "token:root"
    roles = ["root"]
"#;

pub struct Service {
    pub target: Target,
    /// Must live as long as the server.
    _folder: TempDir,
    tokens: Vec<(String, String)>,
}

/// Creates a token, and returns it with its line of the tokens file.
fn new_token(name: &str) -> (String, String) {
    // A server does not accept the environment variables of tests.
    let result = Command::new(built("tenured").unwrap()).env_clear().args(["new-token", name]).output().unwrap();
    let output = String::from_utf8(result.stdout).unwrap() + &String::from_utf8(result.stderr).unwrap();
    let token = output.split_whitespace().find(|word| word.starts_with("tenure_")).unwrap().to_owned();
    let line = output.lines().find(|line| line.contains(" sha256:")).unwrap().trim().to_owned();
    (token, line)
}

impl Service {
    /// Starts a server with a token for each of these names, this policy, and these additional arguments.
    pub async fn start(names: &[&str], policy: &str, more: impl FnOnce(&TempDir) -> Vec<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made: Vec<_> = names.iter().chain(&["root"]).map(|name| ((*name).to_owned(), new_token(name))).collect();
        let lines: String = made.iter().map(|(_, (_, line))| format!("{line}\n")).collect();
        let at = |file: &str| folder.path().join(file).display().to_string();
        std::fs::write(at("tokens"), lines).unwrap();
        std::fs::write(at("policy"), format!("{ROOT}{policy}")).unwrap();
        let known = ["--tokens-file", &at("tokens"), "--policy", &at("policy")].map(str::to_owned);
        let arguments = known.into_iter().chain(more(&folder)).collect();
        let options = TenuredOptions { arguments, ..TenuredOptions::default() };
        let tokens: Vec<(String, String)> = made.into_iter().map(|(name, (token, _))| (name, token)).collect();
        let target = Target::start_with(&options, Some(&tokens.last().unwrap().1), None).await.unwrap();
        Self { target, _folder: folder, tokens }
    }

    /// The token of this name.
    pub fn token(&self, name: &str) -> &str {
        &self.tokens.iter().find(|(known, _)| known == name).unwrap().1
    }

    /// The authorization header of this name.
    pub fn bearer(&self, name: &str) -> String {
        format!("Bearer {}", self.token(name))
    }
}
