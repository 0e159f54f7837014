//! Prints settings without secrets, in the format of the configuration file.

use std::fmt;

use secrecy::ExposeSecret;

use super::Config;
use super::span::Span;
use crate::telemetry::redact::redacted;

/// Displays as a TOML file, without secrets.
impl fmt::Display for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = |key: &str, value: String| writeln!(formatter, "{key} = {}", toml::Value::String(value));
        text("data_dir", self.data_dir.display().to_string())?;
        text("store_url", redacted(self.store.url.expose_secret()))?;
        text("store_connect_timeout", Span(self.store.connect_timeout).to_string())?;
        text("store_statement_timeout", Span(self.store.statement_timeout).to_string())?;
        text("store_poll_interval", Span(self.store.poll_interval).to_string())?;
        text("listen", self.listen.to_string())?;
        text("admin_listen", self.admin_listen.to_string())?;
        if let Some(tls) = &self.tls {
            text("tls_cert", tls.cert.display().to_string())?;
            text("tls_key", tls.key.display().to_string())?;
            if let Some(file) = &tls.client_ca {
                text("tls_client_ca", file.display().to_string())?;
            }
            if let Some(file) = &tls.client_crl {
                text("tls_client_crl", file.display().to_string())?;
            }
        }
        if let Some(file) = &self.credentials.tokens_file {
            text("tokens_file", file.display().to_string())?;
        }
        if let Some(file) = &self.credentials.policy {
            text("policy", file.display().to_string())?;
        }
        if let Some(audit) = &self.credentials.audit {
            text("audit_log", audit.file.display().to_string())?;
        }
        if let Some(jwt) = &self.credentials.jwt {
            let algorithms: Vec<String> = jwt.algorithms.iter().map(|algorithm| format!("{algorithm:?}")).collect();
            text("jwt_keys", jwt.keys.to_string())?;
            text("jwt_issuer", jwt.issuer.clone())?;
            text("jwt_audience", jwt.audience.clone())?;
            text("jwt_algorithms", algorithms.join(","))?;
            text("jwt_claim", jwt.claim.clone())?;
        }
        text("label", self.label.clone())?;
        text("advertise", self.advertise.clone())?;
        text("min_ttl", Span(self.min_ttl).to_string())?;
        text("max_ttl", Span(self.max_ttl).to_string())?;
        text("server_lease", Span(self.server_lease).to_string())?;
        text("history_retention", Span(self.history_retention).to_string())?;
        text("drain_timeout", Span(self.drain_timeout).to_string())?;
        text("log_format", self.log.format.as_str().to_string())?;
        text("log_level", self.log.level.clone())?;
        if let Some(audit) = &self.credentials.audit {
            writeln!(formatter, "audit_everything = {}", audit.everything)?;
        }
        writeln!(formatter, "console = {}", self.console)?;
        writeln!(formatter, "allow_insecure = {}", self.allow_insecure)?;
        writeln!(formatter, "history_max_bytes = {}", self.history_max_bytes)?;
        writeln!(formatter, "max_namespaces = {}", self.max_namespaces)?;
        writeln!(formatter, "max_connections = {}", self.connections.connections)?;
        writeln!(formatter, "max_connections_per_address = {}", self.connections.of_one_address)?;
        writeln!(formatter, "worker_threads = {}", self.worker_threads)?;
        writeln!(formatter, "store_max_connections = {}", self.store.max_connections)?;
        writeln!(formatter, "store_allow_unsafe_durability = {}", self.store.allow_unsafe_durability)?;
        writeln!(formatter, "store_prepared_statements = {}", self.store.prepared_statements)?;
        writeln!(formatter, "store_migrate = {}", self.store.migrate)
    }
}
