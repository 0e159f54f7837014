//! Settings: consistent names across sources, precedence, and error messages.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::{ArgMatches, Command};
use tenure_server::config::{Config, ConfigError, LogFormat, Surroundings, load, with_settings};
use tenure_server::telemetry::redact::redacted;

/// Settings from flags, without an environment or a file.
fn from_flags(flags: &[&str]) -> Result<Config, ConfigError> {
    load(&matches(flags).unwrap(), &surroundings(&[]))
}

/// Settings from an environment alone.
fn from_surroundings(surroundings: &Surroundings) -> Result<Config, ConfigError> {
    load(&matches(&[]).unwrap(), surroundings)
}

/// The matches of the flags, or clap's error as text.
fn matches(flags: &[&str]) -> Result<ArgMatches, String> {
    let command = with_settings(Command::new("tenured")).no_binary_name(true);
    // Tests must not depend on the environment.
    let command = command.mut_args(|argument| argument.env(None::<&str>));
    command.try_get_matches_from(flags).map_err(|error| error.to_string())
}

fn refusal(flags: &[&str]) -> String {
    from_flags(flags).unwrap_err().to_string()
}

fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    Surroundings { variables, host: "host".into(), processors: 5 }
}

fn file_in(folder: &Path, text: &str) -> String {
    let file = folder.join("tenured.toml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn each_setting_has_one_name() {
    let command = with_settings(Command::new("tenured"));
    for argument in command.get_arguments() {
        let name = argument.get_id().as_str();
        assert_eq!(argument.get_long().unwrap(), name.replace('_', "-"));
        let variable = format!("TENURE_{}", name.to_uppercase());
        assert_eq!(argument.get_env().unwrap().to_str().unwrap(), variable);
    }
}

#[test]
fn console_is_enabled_by_default() {
    assert!(from_flags(&[]).unwrap().settings.console);
    assert!(from_flags(&["--console"]).unwrap().settings.console);
    let off = from_flags(&["--console=false"]).unwrap();
    assert!(!off.settings.console);
    assert!(off.to_string().lines().any(|line| line == "console = false"), "{off}");
}

#[test]
fn worker_threads_default_to_half_of_the_processors() {
    for (processors, expected) in [(0, 1), (1, 1), (2, 1), (3, 2), (8, 4)] {
        let around = Surroundings { processors, ..surroundings(&[]) };
        assert_eq!(from_surroundings(&around).unwrap().worker_threads, expected, "of {processors}");
    }
    assert_eq!(from_flags(&["--worker-threads=7"]).unwrap().worker_threads, 7);
}

#[test]
fn printed_config_loads_to_the_same_settings() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--min-ttl=750ms", "--label=a \"b\"", "--log-format=json", "--store-migrate=false", "--data-dir=/d"];
    let files = ["--tls-cert=/c", "--tls-key=/k", "--tls-client-ca=/a", "--tls-client-crl=/r", "--tokens-file=/t"];
    let jwt =
        ["--jwt-keys=https://id.example/keys", "--jwt-issuer=i", "--jwt-audience=a", "--jwt-algorithms=ES256, EdDSA"];
    let flags = [&flags[..], &files[..], &jwt[..], &["--policy=/p", "--audit-log=-", "--audit-everything"]].concat();
    let printed = from_flags(&flags).unwrap().to_string();
    let file = file_in(folder.path(), &printed);
    assert_eq!(from_flags(&["--config", &file]).unwrap().to_string(), printed);
    for argument in with_settings(Command::new("tenured")).get_arguments() {
        let name = argument.get_id().as_str();
        let shown = printed.lines().any(|line| line.starts_with(&format!("{name} = ")));
        assert_eq!(shown, !["config", "store_url_file"].contains(&name), "{name}");
    }
}

#[test]
fn defaults_are_an_embedded_database_on_this_machine() {
    let config = from_surroundings(&surroundings(&[("HOME", "/home/ann")])).unwrap();
    assert_eq!(config.data_dir, Path::new("/home/ann/.local/share/tenure"));
    assert_eq!(config.store.url, "sqlite:/home/ann/.local/share/tenure/tenure.db");
    assert_eq!(config.settings.listen.to_string(), "127.0.0.1:7420");
    assert_eq!(config.settings.admin_listen.to_string(), "127.0.0.1:7421");
    assert_eq!(config.label, "host");
    assert_eq!(config.advertise, "127.0.0.1:7420");
    assert_eq!(from_flags(&["--listen=0.0.0.0:7430", "--allow-insecure"]).unwrap().advertise, "host:7430");
    assert_eq!(from_flags(&["--advertise="]).unwrap().advertise, "");
    assert_eq!(
        (config.min_ttl.0, config.settings.max_ttl.0),
        (Duration::from_millis(500), Duration::from_secs(86_400))
    );
    assert_eq!(config.settings.server_lease.0, Duration::from_secs(10));
    assert_eq!((config.connections.connections, config.connections.of_one_address), (20_000, 10_000));
    assert_eq!(from_flags(&["--max-connections=7"]).unwrap().connections.of_one_address, 4);
    assert_eq!(config.log_level, "info");

    let with_xdg = from_surroundings(&surroundings(&[("HOME", "/home/ann"), ("XDG_DATA_HOME", "/xdg")])).unwrap();
    assert_eq!(with_xdg.data_dir, Path::new("/xdg/tenure"));
    let without_home = from_surroundings(&surroundings(&[("RUST_LOG", "debug")])).unwrap();
    assert_eq!(without_home.data_dir, Path::new("tenure-data"));
    assert_eq!(without_home.log_level, "debug");
}

#[test]
fn flags_override_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "min_ttl = \"1s\"\nmax_ttl = \"1h\"\nlog_format = \"json\"\nstore_migrate = false\ndata_dir = \"state\"\n";
    let file = file_in(folder.path(), text);
    let config = from_flags(&["--config", &file, "--min-ttl", "2s"]).unwrap();
    assert_eq!((config.min_ttl.0, config.settings.max_ttl.0), (Duration::from_secs(2), Duration::from_secs(3600)));
    assert_eq!(config.settings.log_format, LogFormat::Json);
    assert!(!config.settings.store_migrate);
    // Relative to the file, regardless of the server's working directory.
    assert_eq!(config.data_dir, folder.path().join("state"));
}

#[test]
fn boolean_setting_is_a_flag_or_has_a_value() {
    assert!(from_flags(&["--store-allow-unsafe-durability"]).unwrap().store.allow_unsafe_durability);
    assert!(!from_flags(&["--store-prepared-statements=false"]).unwrap().store.prepared_statements);
    assert!(matches(&["--store-migrate=perhaps"]).unwrap_err().contains("--store-migrate"));
}

#[test]
fn store_url_is_read_from_its_own_file() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("url");
    std::fs::write(&secret, "postgres://ann:s3cret@db/tenure\n").unwrap();
    let secret = secret.display().to_string();
    let config = from_flags(&["--store-url-file", &secret]).unwrap();
    assert_eq!(config.store.url, "postgres://ann:s3cret@db/tenure");
    assert!(config.to_string().contains("store_url = \"postgres://ann:***@db/tenure\""), "{config}");
    assert!(!format!("{config:?}").contains("s3cret"));

    let both = refusal(&["--store-url-file", &secret, "--store-url=sqlite:x"]);
    assert_eq!(both, "both store_url and store_url_file are set: set one of them");
    // A URL given as a flag overrides both `store_url` and `store_url_file` of the file.
    let file = file_in(folder.path(), "store_url_file = \"url\"");
    assert_eq!(from_flags(&["--config", &file]).unwrap().store.url, "postgres://ann:s3cret@db/tenure");
    let config = from_flags(&["--config", &file, "--store-url=sqlite:x"]).unwrap();
    assert_eq!(config.store.url, "sqlite:x");
    assert!(refusal(&["--store-url-file=/nowhere/url"]).starts_with("store_url_file: cannot read /nowhere/url"));
}

#[test]
fn invalid_field_is_rejected_by_name() {
    let cases = [
        ("--min-ttl=99ms", "min_ttl is 99ms: it must be 100ms to 24h"),
        ("--min-ttl=25h", "min_ttl is 25h: it must be 100ms to 24h"),
        ("--max-ttl=366d", "max_ttl is 366d: it must be 100ms to 365d"),
        ("--server-lease=1s", "server_lease is 1s: it must be 2s to 1m"),
        ("--server-lease=61s", "server_lease is 61s: it must be 2s to 1m"),
        ("--drain-timeout=11m", "drain_timeout is 11m: it must be 0s to 10m"),
        ("--max-namespaces=0", "max_namespaces is 0: it must be 1 to 100000"),
        ("--max-connections=0", "max_connections is 0: it must be 1 to 1000000"),
        ("--max-connections-per-address=20001", "max_connections_per_address is 20001: it must be 1 to 20000"),
        ("--worker-threads=0", "worker_threads is 0: it must be 1 to 1000"),
        ("--store-max-connections=0", "store_max_connections is 0: it must be 1 to 1000"),
        ("--store-connect-timeout=0s", "store_connect_timeout is 0s: it must be 100ms to 1m"),
        ("--store-poll-interval=0ms", "store_poll_interval is 0s: it must be 1ms to 10s"),
        ("--label=", "label must be 1 to 255 bytes without control characters"),
        ("--advertise=here", "advertise is \"here\": it must be host:port, or empty"),
        ("--advertise=http://here:1", "advertise is \"http://here:1\": it must be host:port, or empty"),
        ("--log-level=tenure=loud", "invalid value for log_level: \"tenure=loud\": "),
        ("--store-url=oracle://a:b@c", "store_url must be sqlite:<file>, "),
    ];
    for (flag, expected) in cases {
        let refusal = refusal(&[flag]);
        assert!(refusal.starts_with(expected), "{flag}: {refusal}");
    }
}

#[test]
fn malformed_setting_is_rejected_by_name() {
    assert!(matches(&["--min-ttl=500"]).unwrap_err().contains("--min-ttl"));
    assert!(matches(&["--listen=nowhere"]).unwrap_err().contains("--listen"));
    assert!(matches(&["--mn-ttl=1s"]).unwrap_err().contains("--mn-ttl"));
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("mn_ttl = \"1s\"", "unknown field `mn_ttl`"),
        ("min_ttl = 500", "a duration with a unit"),
        ("min_ttl = \"soon\"", "\"soon\" must be a duration with a unit"),
        ("max_namespaces = -1", "max_namespaces"),
        ("config = \"other\"", "unknown field `config`"),
    ] {
        let refusal = refusal(&["--config", &file_in(folder.path(), text)]);
        assert!(refusal.starts_with("config: ") && refusal.contains(expected), "{text}: {refusal}");
    }
    assert!(refusal(&["--config=/nowhere"]).starts_with("config: cannot read /nowhere"));
}

#[test]
fn unknown_variable_is_rejected_by_name() {
    let refused = |name| from_surroundings(&surroundings(&[(name, "x")])).unwrap_err().to_string();
    assert_eq!(refused("TENURE_STORE_ULR"), "unknown setting in the environment: TENURE_STORE_ULR");
    assert!(refused("TENURE_ADMIN_PORT").ends_with(": TENURE_ADMIN_PORT"));
    for known in ["TENURE_MIN_TTL", "TENURE_ENDPOINTS", "TENURE_SESSION_ID", "OTHER"] {
        from_surroundings(&surroundings(&[(known, "x")])).unwrap();
    }
}

#[test]
fn variables_of_kubernetes_services_are_ignored() {
    for service in ["TENURE", "TENURE_LOCKS"] {
        for (name, value) in [
            ("SERVICE_HOST", "10.0.0.1"),
            ("SERVICE_PORT", "7420"),
            ("SERVICE_PORT_GRPC", "7420"),
            ("PORT", "tcp://10.0.0.1:7420"),
            ("PORT_7420_TCP", "tcp://10.0.0.1:7420"),
            ("PORT_7420_TCP_ADDR", "10.0.0.1"),
        ] {
            from_surroundings(&surroundings(&[(&format!("{service}_{name}"), value)])).unwrap();
        }
    }
}

#[test]
fn secrets_of_a_url_are_redacted() {
    for (url, shown) in [
        ("sqlite:/data/tenure.db", "sqlite:/data/tenure.db"),
        ("postgres://ann@db/tenure", "postgres://ann@db/tenure"),
        ("postgres://ann:pa:ss@a:5432,b:5432/tenure", "postgres://ann:***@a:5432,b:5432/tenure"),
        ("mysql://ann:p@s?s/w@db/tenure", "mysql://ann:***@db/tenure"),
        (
            "postgres://db/t?sslmode=require&sslpassword=x&Password=y",
            "postgres://db/t?sslmode=require&sslpassword=***&Password=***",
        ),
        ("ann:s3cret@tcp(db)/tenure", "***"),
        ("postgres:/ann:s3cret@db/tenure", "***"),
        ("https://s3cret@id.example/keys", "https://***@id.example/keys"),
        ("https://ann:s3cret@id.example/k?token=s3cret&s3cret", "https://***@id.example/k?token=***&***"),
    ] {
        assert_eq!(redacted(url), shown);
    }
}

#[test]
fn rejected_or_printed_setting_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["store_url = \"postgres://ann:s3cret@db", "store_url = 's3cret' x", "jwt_keys = { a = 's3cret' }"] {
        let file = file_in(folder.path(), &format!("min_ttl = '1s'\n{text}\n"));
        let refusal = refusal(&["--config", &file]);
        assert!(refusal.contains("line 2") && !refusal.contains("s3cret"), "{refusal}");
    }
    for flag in ["--store-url=ann:s3cret@tcp(db)/tenure", "--store-url=s3cret", "--jwt-keys=http://ann:s3cret@id/k"] {
        let refusal = refusal(&[flag]);
        assert!(!refusal.contains("s3cret"), "{refusal}");
    }
    let keys = "--jwt-keys=https://ann:s3cret@id.example/k?token=s3cret";
    let config = from_flags(&[keys, "--jwt-issuer=i", "--jwt-audience=a"]).unwrap();
    assert!(config.to_string().contains("jwt_keys = \"https://***@id.example/k?token=***\""), "{config}");
    assert!(!format!("{config:?}").contains("s3cret"), "{config:?}");
}

#[test]
fn listening_for_other_machines_requires_tls_and_credentials() {
    let tls = ["--tls-cert=/c", "--tls-key=/k"];
    let everywhere = |flags: &[&str]| from_flags(&[&["--listen=0.0.0.0:7420"], flags].concat());
    for (flags, missing) in [
        (
            &[][..],
            "machines require TLS (tls_cert, tls_key) and credentials (tls_client_ca, tokens_file or jwt_keys), or",
        ),
        (&["--tokens-file=/t"][..], "machines require TLS (tls_cert, tls_key), or"),
        (&tls[..], "machines require credentials (tls_client_ca, tokens_file or jwt_keys), or"),
    ] {
        let refused = everywhere(flags).unwrap_err().to_string();
        assert!(refused.contains(missing) && refused.contains("allow_insecure = true"), "{refused}");
    }
    let refused = from_flags(&["--policy=/p"]).unwrap_err().to_string();
    assert!(refused.contains("policy is set: also set tls_client_ca, tokens_file or jwt_keys"), "{refused}");
    everywhere(&["--allow-insecure"]).unwrap();
    everywhere(&[tls[0], tls[1], "--tokens-file=/t"]).unwrap();
    everywhere(&[tls[0], tls[1], "--jwt-keys=/k", "--jwt-issuer=i", "--jwt-audience=a"]).unwrap();
    let by_certificate = everywhere(&[tls[0], tls[1], "--tls-client-ca=/a"]).unwrap();
    assert!(by_certificate.credentials.certificates && by_certificate.tls.is_some());
    assert!(
        !from_flags(&["--listen=[::1]:7420"]).unwrap().credentials.are_wanted(),
        "loopback requires no credentials"
    );
}

#[test]
fn tls_settings_require_each_other() {
    assert_eq!(refusal(&["--tls-cert=/c"]), "tls_cert is set: also set tls_key");
    let folder = tempfile::tempdir().unwrap();
    let empty = refusal(&["--config", &file_in(folder.path(), "jwt_issuer = \"\"")]);
    assert_eq!(empty, "jwt_issuer is set: also set jwt_keys", "even an empty value counts as set");
    let jwt = ["--jwt-keys=/k", "--jwt-issuer=", "--jwt-audience=a"];
    assert_eq!(refusal(&jwt), "jwt_keys is set: also set jwt_issuer", "an empty value is not enough");
    let no_cert = refusal(&["--config", &file_in(folder.path(), "tls_cert = \"\"")]);
    assert_eq!(no_cert, "tls_cert is set: also set tls_key", "an empty value must not disable TLS");
    assert_eq!(refusal(&["--tls-key=/k"]), "tls_key is set: also set tls_cert");
    assert_eq!(refusal(&["--tls-client-ca=/a"]), "tls_client_ca is set: also set tls_cert and tls_key");
    let refused = refusal(&["--tls-cert=/c", "--tls-key=/k", "--tls-client-crl=/r"]);
    assert_eq!(refused, "tls_client_crl is set: also set tls_client_ca");
}

#[test]
fn jwt_settings_require_each_other() {
    assert_eq!(refusal(&["--jwt-issuer=i"]), "jwt_issuer is set: also set jwt_keys");
    assert_eq!(refusal(&["--jwt-keys=/k", "--jwt-audience=a"]), "jwt_keys is set: also set jwt_issuer");
    assert_eq!(refusal(&["--jwt-keys=/k", "--jwt-issuer=i"]), "jwt_keys is set: also set jwt_audience");
    let all = ["--jwt-issuer=i", "--jwt-audience=a"];
    let refused = refusal(&[&["--jwt-keys=http://id.example/keys"], &all[..]].concat());
    assert!(refused.contains("must be a file, or https://"), "{refused}");
    for forgeable in ["HS256", "none", "RS256,"] {
        let refused = refusal(&[&["--jwt-keys=/k", "--jwt-algorithms", forgeable], &all[..]].concat());
        assert!(refused.contains("it must be of RS256"), "{refused}");
    }
}
