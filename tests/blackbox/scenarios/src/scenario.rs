//! The format of a scenario, which the README beside this crate describes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::step::{Action, Fault, Step};

/// One scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name of its file, without the extension.
    #[serde(skip)]
    pub name: String,
    /// A description for readers.
    pub title: String,
    /// The promises, of the design or of the clients' common page, that it tests.
    pub promise: String,
    /// The participating clients, each a process of its own.
    pub clients: Vec<String>,
    /// How the clients are connected before the first step.
    #[serde(default)]
    pub connect: Connect,
    /// Whether it needs an additional server with TLS and authentication.
    #[serde(default)]
    pub secured: bool,
    /// The number of servers. Default: that of the run.
    #[serde(default)]
    pub servers: Option<usize>,
    /// The stores on which it runs. Default: all.
    #[serde(default)]
    pub stores: Option<Vec<String>>,
    /// The languages that cannot run it, with reasons.
    #[serde(default)]
    pub skip: BTreeMap<String, String>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// How clients are connected before the first step.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Connect {
    /// Whether they are connected, as `c`, to all servers.
    Whether(bool),
    /// They are connected, with these additional fields.
    With(Map<String, Value>),
}

impl Default for Connect {
    fn default() -> Self {
        Self::Whether(true)
    }
}

impl Scenario {
    /// Reads all files of a folder, sorted by name.
    ///
    /// # Errors
    /// If one cannot be read, or is not a valid scenario.
    pub fn load_all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(path);
            }
        }
        files.sort();
        files.iter().map(|file| Self::load(file)).collect()
    }

    fn load(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text)
    }

    /// Parses a scenario.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        // `y` is a string, and not a boolean.
        let options = serde_saphyr::options! { strict_booleans: true };
        let read = serde_saphyr::from_str_with_options(text, options);
        let scenario: Self = read.with_context(|| format!("{name}.yaml"))?;
        let scenario = Self { name: name.to_owned(), ..scenario };
        scenario.check().with_context(|| format!("{name}.yaml"))?;
        Ok(scenario)
    }

    /// Finds mistakes that would otherwise show only when the scenario runs, or never.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.steps.is_empty(), "there are no steps");
        let mut started = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let number = number + 1;
            let client = match &step.action {
                Action::Request(request) => Some(&request.at),
                Action::Events(events) => Some(&events.at),
                Action::Fault(fault) => fault.client.as_ref(),
                _ => None,
            };
            if let Some(client) = client {
                ensure!(self.clients.contains(client), "step {number}: there is no client {client}");
            }
            if let Action::Request(request) = &step.action {
                started.extend(request.start.clone());
            }
            for name in step.action.awaits() {
                ensure!(started.contains(name), "step {number}: \"{name}\" was not started before");
            }
        }
        Ok(())
    }

    /// Whether it has faults of servers, which then must not be shared.
    #[must_use]
    pub fn has_server_faults(&self) -> bool {
        self.faults().any(|fault| fault.kind.affects_a_server()) || self.has_database_faults()
    }

    /// Whether it has faults of the database, which then must not be shared.
    #[must_use]
    pub fn has_database_faults(&self) -> bool {
        self.faults().any(|fault| fault.kind.affects_the_database())
    }

    fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.steps.iter().filter_map(|step| if let Action::Fault(fault) = &step.action { Some(fault) } else { None })
    }
}
