//! A server with TLS and authentication.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::json;
use tenure_harness::{Authority, Certified, Tenured, TenuredOptions, built};

use crate::matcher::Stored;

/// All identities may do everything, except one.
const POLICY: &str = r#"
[[roles.all]]
verbs = ["acquire", "read", "watch", "operate"]

[[roles.few]]
verbs = ["acquire", "read", "watch"]
names = ["allowed"]

[[grants]]
identity = "cert:*"
roles = ["all"]

[[grants]]
identity = "token:scenarios"
roles = ["all"]

[[grants]]
identity = "token:few"
roles = ["few"]
"#;

/// The server, and the credentials for scenarios.
pub struct Secured {
    _server: Tenured,
    _authorities: [Authority; 2],
    stored: Stored,
}

impl Secured {
    /// Starts a server.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start() -> anyhow::Result<Self> {
        let (authority, stranger) = (Authority::new("the authority")?, Authority::new("a stranger")?);
        let folder = authority.folder().to_owned();
        let server = authority.certify("server", 1, &["localhost"])?;
        let client = authority.certify("client", 2, &["spiffe://scenarios/client"])?;
        let nameless = authority.certify("nameless", 3, &["10.1.2.3"])?;
        let revoked = authority.certify("revoked", 4, &["spiffe://scenarios/revoked"])?;
        let (token, line) = new_token("scenarios")?;
        let (few_token, few_line) = new_token("few")?;
        let tokens = written(&folder, "tokens", &format!("{line}\n{few_line}\n"))?;
        let options = TenuredOptions::default()
            .argument(format!("--tls-cert={}", server.cert.display()))
            .argument(format!("--tls-key={}", server.key.display()))
            .argument(format!("--tls-client-ca={}", authority.ca().display()))
            .argument(format!("--tls-client-crl={}", authority.revoke(&[4])?.display()))
            .argument(format!("--tokens-file={tokens}"))
            .argument(format!("--policy={}", written(&folder, "policy", POLICY)?));
        let server = Tenured::start(&options).await.context("starting a server with TLS")?;
        let mut stored = Stored::from([
            ("secured".to_owned(), json!(format!("https://localhost:{}", server.port()))),
            ("secured_by_address".to_owned(), json!(format!("https://127.0.0.1:{}", server.port()))),
            ("ca_cert".to_owned(), json!(authority.ca())),
            ("other_ca_cert".to_owned(), json!(stranger.ca())),
            ("token".to_owned(), json!(token)),
            ("few_token".to_owned(), json!(few_token)),
            ("token_file".to_owned(), json!(written(&folder, "token", &format!("{token}\n"))?)),
            ("no_file".to_owned(), json!(folder.join("no-such-file"))),
        ]);
        for (name, Certified { cert, key }) in [("client", client), ("nameless", nameless), ("revoked", revoked)] {
            stored.insert(format!("{name}_cert"), json!(cert));
            stored.insert(format!("{name}_key"), json!(key));
        }
        Ok(Self { _server: server, _authorities: [authority, stranger], stored })
    }

    /// The values that scenarios can name.
    #[must_use]
    pub fn stored(&self) -> &Stored {
        &self.stored
    }
}

/// Creates a token in the way that operators do.
fn new_token(name: &str) -> anyhow::Result<(String, String)> {
    let made = Command::new(built("tenured")?).args(["new-token", name]).output()?;
    let text = String::from_utf8(made.stdout)?;
    let mut indented = text.lines().filter_map(|line| line.strip_prefix("  "));
    let (token, line) = indented.next().zip(indented.next()).context("a token and its line")?;
    Ok((token.to_owned(), line.to_owned()))
}

fn written(folder: &Path, name: &str, text: &str) -> anyhow::Result<String> {
    let file = folder.join(name);
    fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    Ok(file.display().to_string())
}
