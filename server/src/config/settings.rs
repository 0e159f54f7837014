//! Declares the settings: the name, type, default and help of each, for flags, environment variables and the file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, Command, CommandFactory, Parser};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use super::LogFormat;
use super::span::Span;
use crate::telemetry::redact::redacted;

/// The settings of a server. `None`: not set, and the default depends on other settings or on the environment.
#[derive(Clone, Debug, Parser, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A TOML file with any of these settings (as `min_ttl = "500ms"`)
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Where the embedded database lives [default: $XDG_DATA_HOME/tenure, ~/.local/share/tenure or ./tenure-data]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// The database: sqlite:FILE, postgres://USER@HOST,HOST/NAME, mysql://... [default: sqlite:<data_dir>/tenure.db]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    #[serde(serialize_with = "redact")]
    pub store_url: Option<SecretString>,
    /// A file that holds store_url, and its password with it; read again for each new connection
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing)]
    pub store_url_file: Option<PathBuf>,
    /// The most connections to the database for appends and reads
    #[arg(long, value_name = "NUMBER", default_value = "4")]
    pub store_max_connections: usize,
    /// How long connecting to a host of the database may take
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    pub store_connect_timeout: Span,
    /// How long a statement may take
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub store_statement_timeout: Span,
    /// Serve even from a database that may lose what it has committed
    #[arg(long, default_value = "false")]
    pub store_allow_unsafe_durability: bool,
    /// Prepare statements on the database's side; off for poolers that cannot bear it
    #[arg(long, default_value = "true")]
    pub store_prepared_statements: bool,
    /// How often to look for what other servers have written
    #[arg(long, value_name = "DURATION", default_value = "20ms")]
    pub store_poll_interval: Span,
    /// Bring the database's tables up to date at start
    #[arg(long, default_value = "true")]
    pub store_migrate: bool,
    /// The address for clients, gRPC
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
    pub listen: SocketAddr,
    /// The address for operators, HTTP
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7421")]
    pub admin_listen: SocketAddr,
    /// Serve the console, a page to look at all this, at the address for operators
    #[arg(long, default_value = "true")]
    pub console: bool,
    /// The certificate that clients see, and those that sign it, PEM; with tls_key, only TLS is spoken [default: no TLS]
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of tls_cert, PEM
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Who signs the certificates of clients, PEM: these say who a client is [default: no certificates]
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// Which certificates of clients are revoked, PEM: a list of each authority [default: none]
    #[arg(long, value_name = "FILE")]
    pub tls_client_crl: Option<PathBuf>,
    /// The static tokens that clients may show: lines of NAME sha256:HASH, made by `tenured new-token` [default: none]
    #[arg(long, value_name = "FILE")]
    pub tokens_file: Option<PathBuf>,
    /// The policy, TOML [default: every authenticated caller may do everything]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Where it is written down what operators do and who is refused, as lines of JSON: a file, or - for standard output
    /// [default: nowhere]
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    /// Also log every other request, except renewals and replies on streams
    #[arg(long, default_value = "false")]
    pub audit_everything: bool,
    /// The public keys of JSON Web Tokens that clients may show, a JWK set: a file, or https://... [default: no such tokens]
    #[arg(long, value_name = "FILE or URL")]
    #[serde(serialize_with = "redact")]
    pub jwt_keys: Option<SecretString>,
    /// Who must have issued these tokens
    #[arg(long, value_name = "TEXT")]
    pub jwt_issuer: Option<String>,
    /// For whom these tokens must be
    #[arg(long, value_name = "TEXT")]
    pub jwt_audience: Option<String>,
    /// By what these tokens may be signed, separated by commas [default: RS256,ES256,EdDSA]
    #[arg(long, value_name = "LIST")]
    pub jwt_algorithms: Option<String>,
    /// Which claim of these tokens says who it is [default: sub]
    #[arg(long, value_name = "NAME")]
    pub jwt_claim: Option<String>,
    /// Serve other machines even without TLS or without credentials
    #[arg(long, default_value = "false")]
    pub allow_insecure: bool,
    /// What people call this server [default: the host's name]
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// Where other servers reach this one, HOST:PORT; empty: nowhere [default: listen, or the host's name and its port]
    #[arg(long, value_name = "ADDRESS")]
    pub advertise: Option<String>,
    /// The shortest TTL that a session may ask for [default: 500ms]
    #[arg(long, value_name = "DURATION")]
    pub min_ttl: Option<Span>,
    /// The longest TTL that a session may ask for
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub max_ttl: Span,
    /// How long the others wait for a heartbeat of this server before they take its sessions over
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub server_lease: Span,
    /// How long history is kept: who held what, and what watches resume from
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub history_retention: Span,
    /// How many bytes of history are kept of each namespace, even if it is younger than that
    #[arg(long, value_name = "BYTES", default_value = "1073741824")]
    pub history_max_bytes: u64,
    /// How long a server that was asked to stop may take
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub drain_timeout: Span,
    /// The most namespaces that requests may fill; those that the database has are always opened
    #[arg(long, value_name = "NUMBER", default_value = "100")]
    pub max_namespaces: usize,
    /// How many connections there may be
    #[arg(long, value_name = "COUNT", default_value = "20000")]
    pub max_connections: usize,
    /// How many connections there may be from one address [default: half of max_connections]
    #[arg(long, value_name = "COUNT")]
    pub max_connections_per_address: Option<usize>,
    /// How many threads carry out what is asked [default: half of the processors, one at least]
    #[arg(long, value_name = "NUMBER")]
    pub worker_threads: Option<usize>,
    /// How log records are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// What is logged: a level, or several by target [default: $RUST_LOG or info]
    #[arg(long, value_name = "FILTER")]
    pub log_level: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::parse_from(["tenured"])
    }
}

impl Settings {
    /// The environment variables that are settings.
    #[must_use]
    pub fn variables() -> Vec<String> {
        Self::command().get_arguments().map(variable).collect()
    }

    /// The paths of files and folders that are set, with the names of their settings.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let all = [
            ("tls_cert", &mut self.tls_cert),
            ("tls_key", &mut self.tls_key),
            ("tls_client_ca", &mut self.tls_client_ca),
            ("tls_client_crl", &mut self.tls_client_crl),
            ("tokens_file", &mut self.tokens_file),
            ("policy", &mut self.policy),
            ("audit_log", &mut self.audit_log),
            ("data_dir", &mut self.data_dir),
            ("store_url_file", &mut self.store_url_file),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name, path.as_mut()?)))
    }
}

/// Adds the settings to a command as flags and environment variables. Defaults are only shown in the help: a value in
/// the matches overrides the file.
#[must_use]
pub fn with_settings(command: Command) -> Command {
    Settings::augment_args(command).mut_args(|argument| {
        let variable = variable(&argument);
        let argument = match (argument.get_help(), argument.get_default_values()) {
            (Some(help), [default]) => {
                let help = format!("{help} [default: {}]", default.to_string_lossy());
                argument.help(help).default_value(None::<&str>)
            }
            _ => argument,
        };
        let argument = argument.env(variable).required(false);
        match argument.get_action() {
            ArgAction::SetTrue => argument
                .action(ArgAction::Set)
                .value_name("BOOL")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            _ => argument,
        }
    })
}

fn variable(argument: &Arg) -> String {
    format!("TENURE_{}", argument.get_id().as_str().to_uppercase())
}

/// Serializes a URL without its secrets, or a path.
fn redact<S: Serializer>(url: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    let shown = url.as_ref().map(|url| match url.expose_secret() {
        url if url.contains("://") => redacted(url),
        path => path.to_owned(),
    });
    shown.serialize(serializer)
}
