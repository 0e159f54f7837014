//! A client in another language, controlled through its driver: see `tests/blackbox/scenarios`.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use tenure_checker::Entry;
use tenure_programs::Environment;
use tenure_scenarios::{ClientSpec, DriverChannel};
use tokio::process::Child;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::ProcessEnvironment;

/// The reply timeout of a driver, which may be frozen for a while: longer than its client's own deadlines.
const REPLY_TIMEOUT: Duration = Duration::from_secs(40);

/// How long the driver may take to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The client in another language, which executes requests.
pub(super) struct Driver {
    channel: Mutex<DriverChannel>,
    pub(super) environment: Arc<ProcessEnvironment>,
}

impl Driver {
    /// Starts the driver of this language, in the process group of this process, so that a signal hits both.
    pub(super) fn start(language: &str, environment: Arc<ProcessEnvironment>) -> anyhow::Result<(Self, Child)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let specs = ClientSpec::load_all(&root.join("tests/blackbox/scenarios/clients.toml"), &root)?;
        let spec = specs.into_iter().find(|spec| spec.name == language).context("there is no such client")?;
        let (child, channel) = DriverChannel::begin(spec.driver()?)?;
        Ok((Self { channel: Mutex::new(channel), environment }, child))
    }

    /// Sends a request. The inner error is the client's; an error of the driver itself must not happen.
    pub(super) async fn ask(&self, request: &str, fields: Value) -> anyhow::Result<Result<Value, Value>> {
        let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
        let (_, answer) = self.channel.lock().await.ask(request, &fields).await?;
        let answered = timeout(REPLY_TIMEOUT, answer).await.with_context(|| format!("no reply to {request}"))?;
        let Ok(answered) = answered else { bail!("the driver ended:\n{}", self.channel.lock().await.log()) };
        match &answered.answer {
            Err(error) if error["kind"] == "driver" => bail!("{request} {fields:?}: {error}"),
            answer => Ok(answer.clone()),
        }
    }

    /// Closes the driver's input, and waits for it to exit.
    pub(super) async fn end(&self, mut child: Child) -> anyhow::Result<ExitStatus> {
        let mut channel = self.channel.lock().await;
        channel.end();
        let ended = timeout(EXIT_TIMEOUT, child.wait()).await.context("the driver does not end")??;
        if let Some(output) = channel.invalid_output() {
            bail!("the driver printed an invalid reply: {output:?}");
        }
        Ok(ended)
    }

    /// The next item of a watch; `None` when the watch has ended.
    pub(super) async fn next(&self, watch: &str) -> anyhow::Result<Option<Value>> {
        let fields = Map::from_iter([("watch".to_owned(), watch.into())]);
        let (_, answer) = self.channel.lock().await.ask("next", &fields).await?;
        // No timeout: a watch may be silent for a long time.
        Ok(answer.await.ok().and_then(|answered| answered.answer.ok()))
    }

    pub(super) fn write(&self, entry: Entry) {
        self.environment.write(entry);
    }
}
