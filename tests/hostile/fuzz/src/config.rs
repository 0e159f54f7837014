//! The configuration of a server, from a file and from the environment.

use std::ffi::OsString;

use secrecy::ExposeSecret;
use tenure_server::config::{Config, Settings, Surroundings};

/// The password in the database URLs.
const SECRET: &str = "hushhush";

/// The separator between the file and the environment.
const SEPARATOR: &str = "\n---\n";

/// Any settings are rejected with the name of one of them, or give a configuration that is printed as a file without
/// secrets, which gives the same configuration.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (file, environment) = text.split_once(SEPARATOR).unwrap_or((text, ""));
    let around = surroundings(environment);
    match toml::from_str::<Settings>(file) {
        Ok(settings) => check(settings, &around, text.matches(SECRET).count() == 1),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check(mut settings: Settings, around: &Surroundings, is_once: bool) {
    // The content of another file is not part of this input.
    settings.store_url_file = None;
    let has_secret = is_once && settings.store_url.as_ref().is_some_and(|url| is_secret(url.expose_secret()));
    match Config::new(settings, around) {
        Ok(config) => {
            let shown = config.to_string();
            assert!(!has_secret || !shown.contains(SECRET), "{shown}");
            check_bounds(&config);
            let again = Config::new(toml::from_str(&shown).expect("it is a file"), around);
            assert_eq!(again.map(|config| config.to_string()), Ok(shown));
        }
        Err(problem) => {
            let problem = problem.to_string();
            assert!(!has_secret || !problem.contains(SECRET), "{problem}");
            assert!(problem.contains("TENURE_") || names().iter().any(|name| problem.contains(name)), "{problem}");
        }
    }
}

/// Whether a URL has the secret in its password.
fn is_secret(url: &str) -> bool {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    authority.is_some_and(|authority| authority.contains(&format!(":{SECRET}@")))
}

fn check_bounds(config: &Config) {
    assert!(config.min_ttl <= config.settings.max_ttl && config.settings.server_lease.0.as_secs() >= 2);
    assert!((1..=255).contains(&config.label.len()) && !config.label.contains(char::is_control));
    assert!(config.worker_threads >= 1 && config.settings.max_namespaces >= 1 && config.store.max_connections >= 1);
    let is_guarded = config.tls.is_some() && config.credentials.are_wanted();
    assert!(config.settings.allow_insecure || config.settings.listen.ip().is_loopback() || is_guarded, "{config}");
    assert!(config.credentials.policy.is_none() || config.credentials.are_wanted(), "a policy without credentials");
}

/// The names of all settings, as files have them.
fn names() -> Vec<String> {
    Settings::variables().iter().map(|name| name.trim_start_matches("TENURE_").to_lowercase()).collect()
}

/// Parses lines of `NAME=VALUE`.
fn surroundings(environment: &str) -> Surroundings {
    let pairs = environment.lines().filter_map(|line| line.split_once('='));
    let variables = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    Surroundings { variables, host: "host".to_owned(), processors: 2 }
}
