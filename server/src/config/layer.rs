//! Settings as they were given in one place, each of them optional.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::LogFormat;
use super::span::Span;

/// Settings as flags and environment variables give them, or a file.
#[derive(Clone, Debug, Default, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// A TOML file with any of these settings (as `min_ttl = "500ms"`)
    #[arg(long, env = "TENURE_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Where the embedded database lives [default: $XDG_DATA_HOME/tenure, ~/.local/share/tenure or ./tenure-data]
    #[arg(long, env = "TENURE_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// The database: sqlite:FILE, postgres://USER@HOST,HOST/NAME, mysql://... [default: sqlite:<data_dir>/tenure.db]
    #[arg(long, env = "TENURE_STORE_URL", value_name = "URL", hide_env_values = true)]
    pub store_url: Option<String>,
    /// A file that holds store_url, and its password with it; read again for each new connection
    #[arg(long, env = "TENURE_STORE_URL_FILE", value_name = "FILE")]
    pub store_url_file: Option<PathBuf>,
    /// The most connections to the database for appends and reads [default: 4]
    #[arg(long, env = "TENURE_STORE_MAX_CONNECTIONS", value_name = "NUMBER")]
    pub store_max_connections: Option<u32>,
    /// How long connecting to a host of the database may take [default: 2s]
    #[arg(long, env = "TENURE_STORE_CONNECT_TIMEOUT", value_name = "DURATION")]
    pub store_connect_timeout: Option<Span>,
    /// How long a statement may take [default: 5s]
    #[arg(long, env = "TENURE_STORE_STATEMENT_TIMEOUT", value_name = "DURATION")]
    pub store_statement_timeout: Option<Span>,
    /// Serve even from a database that may lose what it has committed [default: false]
    #[arg(long, env = "TENURE_STORE_ALLOW_UNSAFE_DURABILITY", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub store_allow_unsafe_durability: Option<bool>,
    /// Prepare statements on the database's side; off for poolers that cannot bear it [default: true]
    #[arg(long, env = "TENURE_STORE_PREPARED_STATEMENTS", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub store_prepared_statements: Option<bool>,
    /// How often to look for what other servers have written [default: 20ms]
    #[arg(long, env = "TENURE_STORE_POLL_INTERVAL", value_name = "DURATION")]
    pub store_poll_interval: Option<Span>,
    /// Bring the database's tables up to date at start [default: true]
    #[arg(long, env = "TENURE_STORE_MIGRATE", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub store_migrate: Option<bool>,
    /// The address for clients, gRPC [default: 127.0.0.1:7420]
    #[arg(long, env = "TENURE_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// The address for operators, HTTP [default: 127.0.0.1:7421]
    #[arg(long, env = "TENURE_ADMIN_LISTEN", value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// Serve the console, a page to look at all this, at the address for operators [default: true]
    #[arg(long, env = "TENURE_CONSOLE", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub console: Option<bool>,
    /// The certificate that clients see, and those that sign it, PEM; with tls_key, only TLS is spoken [default: no TLS]
    #[arg(long, env = "TENURE_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of tls_cert, PEM
    #[arg(long, env = "TENURE_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Who signs the certificates of clients, PEM: these say who a client is [default: no certificates]
    #[arg(long, env = "TENURE_TLS_CLIENT_CA", value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// Which certificates of clients are revoked, PEM: a list of each authority [default: none]
    #[arg(long, env = "TENURE_TLS_CLIENT_CRL", value_name = "FILE")]
    pub tls_client_crl: Option<PathBuf>,
    /// The static tokens that clients may show: lines of NAME sha256:HASH, made by `tenured new-token` [default: none]
    #[arg(long, env = "TENURE_TOKENS_FILE", value_name = "FILE")]
    pub tokens_file: Option<PathBuf>,
    /// The policy, TOML [default: every authenticated caller may do everything]
    #[arg(long, env = "TENURE_POLICY", value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Where it is written down what operators do and who is refused, as lines of JSON: a file, or - for standard output
    /// [default: nowhere]
    #[arg(long, env = "TENURE_AUDIT_LOG", value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    /// Also log every other request, except renewals and replies on streams [default: false]
    #[arg(long, env = "TENURE_AUDIT_EVERYTHING", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub audit_everything: Option<bool>,
    /// The public keys of JSON Web Tokens that clients may show, a JWK set: a file, or https://... [default: no such tokens]
    #[arg(long, env = "TENURE_JWT_KEYS", value_name = "FILE or URL")]
    pub jwt_keys: Option<String>,
    /// Who must have issued these tokens
    #[arg(long, env = "TENURE_JWT_ISSUER", value_name = "TEXT")]
    pub jwt_issuer: Option<String>,
    /// For whom these tokens must be
    #[arg(long, env = "TENURE_JWT_AUDIENCE", value_name = "TEXT")]
    pub jwt_audience: Option<String>,
    /// By what these tokens may be signed, separated by commas [default: RS256,ES256,EdDSA]
    #[arg(long, env = "TENURE_JWT_ALGORITHMS", value_name = "LIST")]
    pub jwt_algorithms: Option<String>,
    /// Which claim of these tokens says who it is [default: sub]
    #[arg(long, env = "TENURE_JWT_CLAIM", value_name = "NAME")]
    pub jwt_claim: Option<String>,
    /// Serve other machines even without TLS or without credentials [default: false]
    #[arg(long, env = "TENURE_ALLOW_INSECURE", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub allow_insecure: Option<bool>,
    /// What people call this server [default: the host's name]
    #[arg(long, env = "TENURE_LABEL", value_name = "TEXT")]
    pub label: Option<String>,
    /// Where other servers reach this one, HOST:PORT; empty: nowhere [default: listen, or the host's name and its port]
    #[arg(long, env = "TENURE_ADVERTISE", value_name = "ADDRESS")]
    pub advertise: Option<String>,
    /// The shortest TTL that a session may ask for [default: 500ms]
    #[arg(long, env = "TENURE_MIN_TTL", value_name = "DURATION")]
    pub min_ttl: Option<Span>,
    /// The longest TTL that a session may ask for [default: 24h]
    #[arg(long, env = "TENURE_MAX_TTL", value_name = "DURATION")]
    pub max_ttl: Option<Span>,
    /// How long the others wait for a heartbeat of this server before they take its sessions over [default: 10s]
    #[arg(long, env = "TENURE_SERVER_LEASE", value_name = "DURATION")]
    pub server_lease: Option<Span>,
    /// How long history is kept: who held what, and what watches resume from [default: 24h]
    #[arg(long, env = "TENURE_HISTORY_RETENTION", value_name = "DURATION")]
    pub history_retention: Option<Span>,
    /// How many bytes of history are kept of each namespace, even if it is younger than that [default: 1073741824]
    #[arg(long, env = "TENURE_HISTORY_MAX_BYTES", value_name = "BYTES")]
    pub history_max_bytes: Option<u64>,
    /// How long a server that was asked to stop may take [default: 10s]
    #[arg(long, env = "TENURE_DRAIN_TIMEOUT", value_name = "DURATION")]
    pub drain_timeout: Option<Span>,
    /// The most namespaces that requests may fill; those that the database has are always opened [default: 100]
    #[arg(long, env = "TENURE_MAX_NAMESPACES", value_name = "NUMBER")]
    pub max_namespaces: Option<usize>,
    /// How many connections there may be [default: 20000]
    #[arg(long, env = "TENURE_MAX_CONNECTIONS", value_name = "COUNT")]
    pub max_connections: Option<usize>,
    /// How many connections there may be from one address [default: half of max_connections]
    #[arg(long, env = "TENURE_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT")]
    pub max_connections_per_address: Option<usize>,
    /// How many threads carry out what is asked [default: half of the processors, one at least]
    #[arg(long, env = "TENURE_WORKER_THREADS", value_name = "NUMBER")]
    pub worker_threads: Option<usize>,
    /// How log records are written [default: text]
    #[arg(long, env = "TENURE_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// What is logged: a level, or several by target [default: $RUST_LOG or info]
    #[arg(long, env = "TENURE_LOG_LEVEL", value_name = "FILTER")]
    pub log_level: Option<String>,
}

impl Layer {
    /// The environment variables that are settings.
    #[must_use]
    pub fn variables() -> Vec<String> {
        let command = Self::augment_args(clap::Command::new("settings"));
        let variables = command.get_arguments().filter_map(|argument| argument.get_env());
        variables.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// What is set here, and what is not as it is set `below`.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        // The two ways to give the URL are one setting.
        let url_here = self.store_url.is_some() || self.store_url_file.is_some();
        let (store_url, store_url_file) = match url_here {
            true => (self.store_url, self.store_url_file),
            false => (below.store_url, below.store_url_file),
        };
        Self {
            config: self.config.or(below.config),
            data_dir: self.data_dir.or(below.data_dir),
            store_url,
            store_url_file,
            store_max_connections: self.store_max_connections.or(below.store_max_connections),
            store_connect_timeout: self.store_connect_timeout.or(below.store_connect_timeout),
            store_statement_timeout: self.store_statement_timeout.or(below.store_statement_timeout),
            store_allow_unsafe_durability: self.store_allow_unsafe_durability.or(below.store_allow_unsafe_durability),
            store_prepared_statements: self.store_prepared_statements.or(below.store_prepared_statements),
            store_poll_interval: self.store_poll_interval.or(below.store_poll_interval),
            store_migrate: self.store_migrate.or(below.store_migrate),
            listen: self.listen.or(below.listen),
            admin_listen: self.admin_listen.or(below.admin_listen),
            console: self.console.or(below.console),
            tls_cert: self.tls_cert.or(below.tls_cert),
            tls_key: self.tls_key.or(below.tls_key),
            tls_client_ca: self.tls_client_ca.or(below.tls_client_ca),
            tls_client_crl: self.tls_client_crl.or(below.tls_client_crl),
            tokens_file: self.tokens_file.or(below.tokens_file),
            policy: self.policy.or(below.policy),
            audit_log: self.audit_log.or(below.audit_log),
            audit_everything: self.audit_everything.or(below.audit_everything),
            jwt_keys: self.jwt_keys.or(below.jwt_keys),
            jwt_issuer: self.jwt_issuer.or(below.jwt_issuer),
            jwt_audience: self.jwt_audience.or(below.jwt_audience),
            jwt_algorithms: self.jwt_algorithms.or(below.jwt_algorithms),
            jwt_claim: self.jwt_claim.or(below.jwt_claim),
            allow_insecure: self.allow_insecure.or(below.allow_insecure),
            label: self.label.or(below.label),
            advertise: self.advertise.or(below.advertise),
            min_ttl: self.min_ttl.or(below.min_ttl),
            max_ttl: self.max_ttl.or(below.max_ttl),
            server_lease: self.server_lease.or(below.server_lease),
            history_retention: self.history_retention.or(below.history_retention),
            history_max_bytes: self.history_max_bytes.or(below.history_max_bytes),
            drain_timeout: self.drain_timeout.or(below.drain_timeout),
            max_namespaces: self.max_namespaces.or(below.max_namespaces),
            max_connections: self.max_connections.or(below.max_connections),
            max_connections_per_address: self.max_connections_per_address.or(below.max_connections_per_address),
            worker_threads: self.worker_threads.or(below.worker_threads),
            log_format: self.log_format.or(below.log_format),
            log_level: self.log_level.or(below.log_level),
        }
    }
}
