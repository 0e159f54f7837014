//! The policy file.

use crate::access::requests::{TEAMS, acquire};
use crate::access::service::{Service, is_forbidden};
use crate::serving::{start, within};
use tenure_proto::v1::*;
use tenure_server::auth::{Access, CredentialOptions, Verb};
use tenure_server::telemetry::metrics::Metrics;
use tenure_server::transport::{ConnectionLimits, Peer};

#[tokio::test]
async fn policy_that_cannot_be_read_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let (tokens_file, policy) = (folder.path().join("tokens"), Some(file.clone()));
    let (token, line) = tenure_server::auth::new_token("ann").unwrap();
    std::fs::write(&tokens_file, line).unwrap();
    write(TEAMS);
    let credentials = CredentialOptions { tokens_file: Some(tokens_file), policy, ..CredentialOptions::default() };
    let access = Access::load(credentials, None, &Metrics::default()).await.unwrap();
    let shown = http::HeaderMap::from_iter([(http::header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap())]);
    let ann = access.identify(&shown, &Peer::default()).unwrap();
    let may = |name| ann.rights().allow(Verb::Acquire, "default", name);
    assert!(may("team-a") && !may("team-b") && !access.reload_policy().unwrap());

    write("[[grants]]\nidentity = \"token:ann\"\nroles = [\"unknown\"]\n");
    let problem = access.reload_policy().unwrap_err();
    assert!(problem.starts_with("policy: ") && problem.contains("unknown role \"unknown\""), "{problem}");
    std::fs::remove_file(&file).unwrap();
    access.reload_policy().unwrap_err();
    assert!(may("team-a") && !may("team-b"), "the previous policy is in force");

    write(&TEAMS.replace("roles = [\"a\"]", "roles = [\"b\"]"));
    assert!(access.reload_policy().unwrap() && !may("team-a") && may("team-b"));
}

/// The documented policy file.
#[tokio::test]
async fn documented_policy_grants_what_the_page_states() {
    let page = include_str!("../../../deploy/security.md");
    let policy = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let service = Service::start(&["billing"], policy).await;
    let billing = service.caller("billing").await;
    acquire(&billing, "billing", "b").await.unwrap();
    acquire(&billing, "billing/run", "b").await.unwrap();
    for name in ["billing-old", "other"] {
        assert!(is_forbidden(&acquire(&billing, name, "b").await.map(drop)), "{name}");
    }
    let evict = EvictRequest { name: "billing".into(), operator: "eve".into(), ..EvictRequest::default() };
    let evicted = within(billing.locks().evict(evict)).await;
    assert!(is_forbidden(&evicted.map(drop)));
}

#[tokio::test]
async fn server_does_not_start_with_an_unusable_policy() {
    let folder = tempfile::tempdir().unwrap();
    let (tokens, policy) = (folder.path().join("tokens"), folder.path().join("policy"));
    std::fs::write(&tokens, "").unwrap();
    let begin = || {
        let credentials = CredentialOptions {
            tokens_file: Some(tokens.clone()),
            policy: Some(policy.clone()),
            ..CredentialOptions::default()
        };
        start(credentials, ConnectionLimits::default())
    };
    for text in [None, Some("[[grants]]\nidentity = \"ann\"\nroles = []\n")] {
        if let Some(text) = text {
            std::fs::write(&policy, text).unwrap();
        }
        let problem = begin().await.err().unwrap().to_string();
        assert!(problem.starts_with("policy: ") && problem.contains(&policy.display().to_string()), "{problem}");
    }
}
