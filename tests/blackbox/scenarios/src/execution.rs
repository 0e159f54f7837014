//! Runs a scenario.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::{sleep, timeout};

use crate::channel::Answered;
use crate::clients::ClientSpec;
use crate::cluster::Cluster;
use crate::drivers::Drivers;
use crate::matcher::{Mismatch, Stored, compare, resolve};
use crate::observer::{self, Observer};
use crate::participant::{Participant, START};
use crate::scenario::{Connect, Scenario};
use crate::step::{Action, Expected, Fault, FaultKind, Request, Step, Until};
use crate::watch_events::ReceivedEvents;

/// The default time limit of a step.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval of the observations.
const PAUSE: Duration = Duration::from_millis(20);

/// A running scenario.
pub(crate) struct Execution<'a> {
    scenario: &'a Scenario,
    cluster: &'a Cluster,
    observer: Observer,
    participants: BTreeMap<String, Participant>,
    pub(crate) stored: Stored,
    started: BTreeMap<String, Started>,
    pub(crate) received: ReceivedEvents,
    /// The server of the last fault.
    last_faulty_server: Option<usize>,
    verbose: bool,
    began: Instant,
}

/// A request that is in progress or answered.
struct Started {
    id: u64,
    sent_at: Instant,
    answer: Option<oneshot::Receiver<Answered>>,
    answered: Option<Answered>,
}

/// Runs a scenario in a namespace, from the first step to the last.
///
/// # Errors
/// The first difference: the step, the expected value and the actual one.
pub async fn execute(
    scenario: &Scenario,
    client: &ClientSpec,
    cluster: &Cluster,
    namespace: &str,
    drivers: &Drivers,
    verbose: bool,
) -> anyhow::Result<()> {
    let count = scenario.servers.unwrap_or(cluster.ports().len());
    let ports = cluster.ports().get(..count).context("too few servers")?;
    let mut participants = BTreeMap::new();
    for (turn, name) in scenario.clients.iter().enumerate() {
        let participant =
            Participant::start(client, ports, turn, drivers).await.with_context(|| format!("starting {name}"))?;
        participants.insert(name.clone(), participant);
    }
    let mut execution = Execution {
        scenario,
        cluster,
        observer: Observer::start(cluster.ports(), namespace)?,
        participants,
        stored: Stored::from([
            ("namespace".to_owned(), json!(namespace)),
            ("other_namespace".to_owned(), json!(format!("{namespace}-other"))),
        ]),
        started: BTreeMap::new(),
        received: ReceivedEvents::default(),
        last_faulty_server: None,
        verbose,
        began: Instant::now(),
    };
    if scenario.secured {
        execution.stored.extend(cluster.secured().await?.stored().clone());
    }
    execution.connect(namespace).await?;
    for (number, step) in scenario.steps.iter().enumerate() {
        let number = number + 1;
        if let Err(error) = execution.step(number, step).await {
            let error = error.context(format!("{}.yaml, step {number}", scenario.name));
            let logs = execution.logs();
            return Err(if logs.is_empty() { error } else { error.context(logs) });
        }
    }
    for (name, participant) in &execution.participants {
        if let Some(line) = participant.driver.channel.invalid_output() {
            bail!("{name} printed an invalid reply: {line}");
        }
    }
    for (name, participant) in execution.participants {
        participant.finish(client, drivers).await.context(name)?;
    }
    Ok(())
}

impl Execution<'_> {
    /// Connects the clients and waits until each has reached a server. Clients that the scenario connects later do so
    /// first with a temporary client, so that the first connection, which is slow in some languages, is over.
    async fn connect(&mut self, namespace: &str) -> anyhow::Result<()> {
        let (client, more) = match &self.scenario.connect {
            Connect::Whether(true) => ("c", Map::new()),
            Connect::Whether(false) => ("first", Map::new()),
            Connect::With(more) => ("c", more.clone()),
        };
        for name in &self.scenario.clients {
            let mut fields = Map::from_iter([("client".to_owned(), json!(client))]);
            fields.insert(
                "endpoints".to_owned(),
                self.participants.get(name).context("a client")?.own["endpoints"].clone(),
            );
            fields.insert("namespace".to_owned(), json!(namespace));
            fields.extend(more.clone());
            let started = self.send(name, "connect", &fields).await?;
            self.answer(started, PATIENCE).await?.answer.map_err(|error| anyhow!("{name} did not connect: {error}"))?;
        }
        for name in &self.scenario.clients {
            self.reach(name, client).await.with_context(|| format!("{name} did not reach a server"))?;
        }
        Ok(())
    }

    async fn reach(&mut self, at: &str, client: &str) -> anyhow::Result<()> {
        let fields = Map::from_iter([("client".to_owned(), json!(client)), ("name".to_owned(), json!("any"))]);
        let began = Instant::now();
        loop {
            let started = self.send(at, "get_lock", &fields).await?;
            let Err(error) = self.answer(started, START).await?.answer else { return Ok(()) };
            ensure!(began.elapsed() < START, "{error}");
            sleep(PAUSE).await;
        }
    }

    async fn step(&mut self, number: usize, step: &Step) -> anyhow::Result<()> {
        match &step.action {
            Action::Request(request) => {
                for time in 1..=request.times {
                    self.stored.insert("time".to_owned(), json!(time.to_string()));
                    let done = self.perform(number, request).await;
                    done.with_context(|| format!("{} at {}", request.kind, request.at))?;
                }
                Ok(())
            }
            Action::Await(wait) => {
                let started = self.started.remove(&wait.started).context("it was not started")?;
                let result = self.expect(started, &wait.expected).await;
                let (started, result) =
                    result.map_or_else(|error| (None, Err(error)), |started| (Some(started), Ok(())));
                // Later steps may refer to it again.
                self.started.extend(started.map(|started| (wait.started.clone(), started)));
                result.with_context(|| format!("await {}", wait.started))
            }
            Action::Until(until) => self.until(number, until).await.context("until"),
            Action::Fault(fault) => self.fault(number, fault).await.with_context(|| format!("{:?}", fault.kind)),
            Action::Events(events) => {
                self.expect_events(number, events).await.with_context(|| format!("events of {}", events.watch))
            }
            Action::Pending(pending) => {
                for name in &pending.started {
                    let started = self.started.get_mut(name).context("it was not started")?;
                    if let Some(answered) = started.poll() {
                        bail!("{name} must be pending, but was answered {}", show(&answered.answer));
                    }
                }
                Ok(())
            }
            Action::Order(order) => self.order(&order.started),
            Action::That(that) => {
                let known = resolve(&that.that, &self.stored);
                compare(&that.is, &known, &mut self.stored).map_err(|mismatch| anyhow!("{}: {mismatch}", that.that))
            }
        }
    }

    async fn perform(&mut self, number: usize, request: &Request) -> anyhow::Result<()> {
        let mut known = self.stored.clone();
        known.extend(self.participants.get(&request.at).context("a client")?.own.clone());
        let Value::Object(mut fields) = resolve(&Value::Object(request.with.clone()), &known) else {
            bail!("the fields are not an object");
        };
        if request.kind == "cancel" {
            let name = fields.get("request").and_then(Value::as_str).context("the request to cancel is not named")?;
            let id = self.started.get(name).with_context(|| format!("{name} was not started"))?.id;
            fields.insert("request".to_owned(), json!(id));
        }
        self.trace(number, || format!("{} > {} {}", request.at, request.kind, Value::Object(fields.clone())));
        let started = self.send(&request.at, &request.kind, &fields).await?;
        if let Some(name) = &request.start {
            self.started.insert(name.clone(), started);
            return Ok(());
        }
        self.expect(started, &request.expected).await.map(drop)
    }

    /// Sends a request to a client.
    async fn send(&mut self, client: &str, request: &str, fields: &Map<String, Value>) -> anyhow::Result<Started> {
        let participant = self.participants.get_mut(client).context("a client")?;
        let sent_at = Instant::now();
        let (id, answer) = participant.ask(request, fields).await?;
        Ok(Started { id, sent_at, answer: Some(answer), answered: None })
    }

    /// Requests the next item of a watch.
    pub(crate) async fn next_item(&mut self, client: &str, watch: &str, within: Duration) -> anyhow::Result<Value> {
        let fields = Map::from_iter([("watch".to_owned(), json!(watch))]);
        let started = self.send(client, "next", &fields).await?;
        let answered = self.answer(started, within).await?;
        answered.answer.map_err(|error| anyhow!("an error: {error}"))
    }

    async fn answer(&mut self, started: Started, within: Duration) -> anyhow::Result<Answered> {
        let started = finish(started, within).await?;
        started.answered.context("an answer")
    }

    /// Waits for an answer, and compares it with the expectation.
    async fn expect(&mut self, started: Started, expected: &Expected) -> anyhow::Result<Started> {
        let started = finish(started, time_limit(expected.within_ms)).await?;
        let answered = started.answered.as_ref().context("an answer")?;
        let took = answered.at.saturating_duration_since(started.sent_at);
        self.trace(0, || format!("  < {} after {} ms", show(&answered.answer), took.as_millis()));
        let wanted = |mismatch: Mismatch| anyhow!("{mismatch}\n    in {}", show(&answered.answer));
        match (&expected.expect, &expected.error, &answered.answer) {
            (_, Some(error), Err(got)) => compare(error, got, &mut self.stored).map_err(wanted)?,
            (Some(expect), _, Ok(got)) => compare(expect, got, &mut self.stored).map_err(wanted)?,
            (None, None, Ok(_)) => {}
            (None, Some(error), Ok(_)) => bail!("expected the error {error}, got {}", show(&answered.answer)),
            (expect, None, Err(_)) => {
                let expect = expect.as_ref().map_or_else(|| "an answer".to_owned(), Value::to_string);
                bail!("expected {expect}, got {}", show(&answered.answer))
            }
        }
        if let Some(least) = expected.at_least_ms.map(Duration::from_millis) {
            ensure!(took >= least, "answered after {took:?}: expected {least:?} at least");
        }
        Ok(started)
    }

    async fn until(&mut self, number: usize, until: &Until) -> anyhow::Result<()> {
        let Value::Object(object) = resolve(&Value::Object(until.until.clone()), &self.stored) else {
            bail!("the fields are not an object")
        };
        // New names are stored when the state matches.
        let wanted = observer::expected_state(&until.until)?;
        self.trace(number, || format!("until {wanted}"));
        let (within, began) = (time_limit(until.within_ms), Instant::now());
        loop {
            let problem = match timeout(within, self.observer.state(&object)).await {
                Ok(Ok(seen)) => match compare(&wanted, &seen, &mut self.stored) {
                    Ok(()) => return Ok(()),
                    Err(mismatch) => format!("{mismatch}\n    in {seen}"),
                },
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => "no answer".to_owned(),
            };
            ensure!(began.elapsed() < within, "no match within {within:?}: {problem}");
            sleep(PAUSE).await;
        }
    }

    async fn fault(&mut self, number: usize, fault: &Fault) -> anyhow::Result<()> {
        let participant = fault.client.as_ref().and_then(|name| self.participants.get_mut(name));
        let shown = format!("{:?} {}", fault.kind, fault.client.as_deref().unwrap_or_default());
        match (fault.kind, participant) {
            (FaultKind::KillClient, Some(participant)) => participant.driver.kill().await,
            (FaultKind::FreezeClient, Some(participant)) => participant.driver.freeze().await?,
            (FaultKind::ThawClient, Some(participant)) => participant.driver.thaw(),
            (FaultKind::Cut, Some(participant)) => participant.cut(fault.how, fault.scope)?,
            (FaultKind::Heal, Some(participant)) => participant.heal(),
            (kind, participant) if kind.affects_a_server() => {
                let server = match (fault.server, participant) {
                    (Some(server), _) => server.checked_sub(1).context("servers are counted from 1")?,
                    (None, Some(participant)) => participant.server()?,
                    (None, None) => self.last_faulty_server.context("the fault names no server")?,
                };
                self.cluster.inject_server_fault(kind, server).await?;
                self.last_faulty_server = Some(server);
            }
            (kind, _) if kind.affects_the_database() => self.cluster.inject_database_fault(kind).await?,
            _ => bail!("the fault names no client"),
        }
        self.trace(number, || shown);
        Ok(())
    }

    fn order(&mut self, names: &[String]) -> anyhow::Result<()> {
        let mut last: Option<(&String, Instant)> = None;
        for name in names {
            let started = self.started.get_mut(name).context("it was not started")?;
            let at = started.poll().with_context(|| format!("{name} was not answered"))?.at;
            if let Some((before, earlier)) = last {
                ensure!(earlier <= at, "{name} was answered {:?} before {before}", earlier - at);
            }
            last = Some((name, at));
        }
        Ok(())
    }

    pub(crate) fn trace<T: Display>(&self, number: usize, what: impl FnOnce() -> T) {
        if self.verbose {
            let number = if number == 0 { "   ".to_owned() } else { format!("{number:3}") };
            println!("{:9.3} {number} {}", self.began.elapsed().as_secs_f64(), what());
        }
    }

    /// The ends of the drivers' logs that are not empty.
    fn logs(&self) -> String {
        let logs = self.participants.iter().map(|(name, participant)| (name, participant.driver.channel.log()));
        let logs: Vec<String> =
            logs.filter(|(_, log)| !log.is_empty()).map(|(name, log)| format!("the log of {name}:\n{log}\n")).collect();
        logs.concat()
    }
}

impl Started {
    /// The answer, if it has arrived.
    fn poll(&mut self) -> Option<&Answered> {
        if let Some(answer) = &mut self.answer
            && let Ok(answered) = answer.try_recv().inspect_err(|error| debug_assert!(*error != TryRecvError::Closed))
        {
            self.answered = Some(answered);
            self.answer = None;
        }
        self.answered.as_ref()
    }
}

/// Waits for the answer.
async fn finish(mut started: Started, within: Duration) -> anyhow::Result<Started> {
    if let Some(answer) = started.answer.take() {
        let answered = timeout(within, answer).await.map_err(|_| anyhow!("no answer within {within:?}"))?;
        started.answered = Some(answered.context("the driver ended without an answer")?);
    }
    Ok(started)
}

pub(crate) fn time_limit(within_ms: Option<u64>) -> Duration {
    within_ms.map_or(PATIENCE, Duration::from_millis)
}

fn show(answer: &Result<Value, Value>) -> String {
    match answer {
        Ok(ok) => format!("{ok}"),
        Err(error) => format!("the error {error}"),
    }
}
