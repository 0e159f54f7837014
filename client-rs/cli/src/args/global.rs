//! The options of every command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tenure_client::transport::{Secret, Security};
use tonic::transport::Uri;

use super::values;
use crate::exit::{self, Failure};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// The servers, separated by commas: each can serve any call, and the next one is tried if one is unavailable
    #[arg(long, env = "TENURE_ENDPOINTS", value_delimiter = ',', value_parser = values::endpoint, global = true,
          default_value = "http://127.0.0.1:7420", value_name = "URL,…")]
    pub endpoints: Vec<String>,
    /// The CA of the certificates of servers at https://, PEM [default: the system's CAs]
    #[arg(long, env = "TENURE_CA_CERT", global = true, hide_short_help = true, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,
    /// This client's certificate, PEM
    #[arg(long, env = "TENURE_CLIENT_CERT", global = true, hide_short_help = true, value_name = "FILE")]
    pub client_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, env = "TENURE_CLIENT_KEY", global = true, hide_short_help = true, value_name = "FILE")]
    pub client_key: Option<PathBuf>,
    /// The name that the servers' certificates must have [default: the endpoint's]
    #[arg(long, env = "TENURE_TLS_SERVER_NAME", global = true, hide_short_help = true, value_name = "NAME")]
    pub tls_server_name: Option<String>,
    /// The file with the token that authenticates the caller; TENURE_TOKEN may contain the token itself
    #[arg(long, env = "TENURE_TOKEN_FILE", global = true, hide_short_help = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The namespace: each has its own locks, groups and sessions
    #[arg(long, env = "TENURE_NAMESPACE", global = true, hide_short_help = true, default_value = "default")]
    pub namespace: String,
    /// The timeout of a call, over all servers: 5, 500ms, 1m (in addition to a wait for a lock)
    #[arg(long, env = "TENURE_TIMEOUT", global = true, hide_short_help = true, default_value = "10s", value_parser = values::duration,
          value_name = "DURATION")]
    pub timeout: Duration,
    /// Tables for people, or JSON with the field names of the API
    #[arg(long, short = 'o', global = true, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

impl Global {
    /// How connections are secured.
    ///
    /// # Errors
    /// The combination of settings is invalid, or a file cannot be read.
    pub fn security(&self) -> Result<Security, Failure> {
        let token = std::env::var("TENURE_TOKEN").ok().filter(|token| !token.is_empty() && self.token_file.is_none());
        let security = Security {
            ca_cert: self.ca_cert.clone(),
            client_cert: self.client_cert.clone(),
            client_key: self.client_key.clone(),
            tls_server_name: self.tls_server_name.clone(),
            token: token.map(Secret),
            token_file: self.token_file.clone(),
        };
        let servers: Vec<Uri> = self.endpoints.iter().filter_map(|endpoint| endpoint.parse().ok()).collect();
        security.check(&servers).map_err(|error| Failure::new(exit::USAGE, error.to_string()))?;
        Ok(security)
    }

    /// The connection options as environment variables, for a process that inherits the others and the token.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let file = |file: &Option<PathBuf>| file.clone().map(PathBuf::into_os_string);
        let given = [
            ("TENURE_ENDPOINTS", Some(self.endpoints.join(",").into())),
            ("TENURE_NAMESPACE", Some(self.namespace.clone().into())),
            ("TENURE_CA_CERT", file(&self.ca_cert)),
            ("TENURE_CLIENT_CERT", file(&self.client_cert)),
            ("TENURE_CLIENT_KEY", file(&self.client_key)),
            ("TENURE_TLS_SERVER_NAME", self.tls_server_name.clone().map(OsString::from)),
            ("TENURE_TOKEN_FILE", file(&self.token_file)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and sentences
    Table,
    /// One JSON document, or one per line for a stream
    Json,
}
