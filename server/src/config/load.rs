//! Merges the sources of settings: flags, environment variables and the file.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, FromArgMatches};
use secrecy::ExposeSecret;

use super::{Config, ConfigError, Settings};

/// The environment that defaults depend on.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// All environment variables.
    pub variables: Vec<(OsString, OsString)>,
    /// The host's name.
    pub host: String,
    /// The number of processors available to this process.
    pub processors: usize,
}

impl Surroundings {
    /// The environment of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { variables: std::env::vars_os().collect(), host, processors }
    }

    /// The value of a variable that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.variables.iter().find(|(variable, _)| variable == name);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }
}

/// Variables of the clients, which may be set in the environment of a server.
const NOT_OURS: [&str; 13] = [
    "TENURE_ENDPOINTS",
    "TENURE_NAMESPACE",
    "TENURE_CA_CERT",
    "TENURE_CLIENT_CERT",
    "TENURE_CLIENT_KEY",
    "TENURE_TLS_SERVER_NAME",
    "TENURE_TOKEN",
    "TENURE_TOKEN_FILE",
    "TENURE_LOCK",
    "TENURE_FENCING_TOKEN",
    "TENURE_SESSION_ID",
    "TENURE_RUN",
    "TENURE_TIMEOUT",
];

/// Whether Kubernetes sets this variable for a service whose name begins with `tenure`: `TENURE_SERVICE_HOST`, `TENURE_SERVICE_PORT_GRPC`,
/// `TENURE_PORT=tcp://10.0.0.1:7420`, `TENURE_PORT_7420_TCP_ADDR`, and so on.
///
/// See <https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables>.
fn is_of_kubernetes(name: &str, value: &OsStr) -> bool {
    let has_port = |(_, rest): (&str, &str)| rest.starts_with(|first: char| first.is_ascii_digit());
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || name.ends_with("_PORT") && value.to_string_lossy().contains("://")
        || name.split_once("_PORT_").is_some_and(has_port)
}

/// Loads the settings from the flags and variables in `given`, and from the file that they name.
///
/// # Errors
/// If a setting is unknown or out of its bounds, or a file cannot be read; names it.
pub fn load(given: &ArgMatches, surroundings: &Surroundings) -> Result<Config, ConfigError> {
    let mut settings = match given.get_one::<PathBuf>("config") {
        Some(file) => read_file(file)?,
        None => Settings::default(),
    };
    // The two ways to give the URL are one setting.
    if given.contains_id("store_url") || given.contains_id("store_url_file") {
        (settings.store_url, settings.store_url_file) = (None, None);
    }
    settings.update_from_arg_matches(given).map_err(|error| ConfigError(error.to_string()))?;
    if let Some(file) = &settings.store_url_file {
        if settings.store_url.is_some() {
            return Err(ConfigError("both store_url and store_url_file are set: set one of them".into()));
        }
        let url = fs::read_to_string(file)
            .map_err(|error| ConfigError(format!("store_url_file: cannot read {}: {error}", file.display())))?;
        settings.store_url = Some(url.trim_end_matches(['\r', '\n']).into());
    }
    Config::new(settings, surroundings)
}

fn read_file(file: &Path) -> Result<Settings, ConfigError> {
    let text = fs::read_to_string(file)
        .map_err(|error| ConfigError(format!("config: cannot read {}: {error}", file.display())))?;
    let mut settings: Settings = toml::from_str(&text).map_err(|error| ConfigError(problem(file, &text, &error)))?;
    // Paths in a file are relative to its folder; `-` as audit log is no path but standard output.
    let folder = file.parent().unwrap_or(Path::new(""));
    for (_, path) in settings.paths().filter(|(name, path)| *name != "audit_log" || path.as_os_str() != "-") {
        *path = folder.join(&path);
    }
    if let Some(keys) = settings.jwt_keys.take_if(|keys| !keys.expose_secret().contains("://")) {
        settings.jwt_keys = Some(folder.join(keys.expose_secret()).display().to_string().into());
    }
    Ok(settings)
}

/// Describes an error in a file by its line number and setting. The line itself is not shown: it may hold a password.
fn problem(file: &Path, text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let number = text.get(..start).map_or(0, |before| before.matches('\n').count());
    let setting = text.lines().nth(number).and_then(|line| line.split_once('=')).map(|(setting, _)| setting.trim());
    let is_name = |setting: &&str| setting.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let setting = setting.filter(is_name).map(|setting| format!("{setting}: ")).unwrap_or_default();
    format!("config: {}, line {}: {setting}{}", file.display(), number + 1, error.message())
}

/// Unknown variables are errors: a misspelt TENURE_STORE_URL must not silently select the embedded database.
pub(super) fn reject_unknown_variables(surroundings: &Surroundings) -> Result<(), ConfigError> {
    let known = Settings::variables();
    for (name, value) in &surroundings.variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with("TENURE_")) else { continue };
        let not_ours = NOT_OURS.contains(&name) || is_of_kubernetes(name, value);
        if !not_ours && !known.iter().any(|known| known == name) {
            return Err(ConfigError(format!("unknown setting in the environment: {name}")));
        }
    }
    Ok(())
}
