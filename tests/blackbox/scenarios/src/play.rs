//! Plays a scenario.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::{sleep, timeout};

use crate::actor::{Actor, START};
use crate::clients::ClientSpec;
use crate::conversation::Answered;
use crate::drivers::Drivers;
use crate::matcher::{Kept, Mismatch, compare, resolve};
use crate::observer::{self, Observer};
use crate::scenario::{Connect, Scenario};
use crate::stage::Stage;
use crate::step::{Act, Ask, Expected, Fault, FaultKind, Step, Until};
use crate::told::Heard;

/// The default time limit of a step.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval of the observations.
const PAUSE: Duration = Duration::from_millis(20);

/// A running scenario.
pub(crate) struct Play<'a> {
    scenario: &'a Scenario,
    stage: &'a Stage,
    observer: Observer,
    actors: BTreeMap<String, Actor>,
    pub(crate) kept: Kept,
    started: BTreeMap<String, Started>,
    pub(crate) heard: Heard,
    /// The server of the last fault.
    harmed: Option<usize>,
    verbose: bool,
    began: Instant,
}

/// A request that is in progress or answered.
struct Started {
    id: u64,
    asked: Instant,
    answer: Option<oneshot::Receiver<Answered>>,
    answered: Option<Answered>,
}

/// Plays a scenario in a namespace, from the first step to the last.
///
/// # Errors
/// The first difference: the step, the expected value and the actual one.
pub async fn play(
    scenario: &Scenario,
    client: &ClientSpec,
    stage: &Stage,
    namespace: &str,
    drivers: &Drivers,
    verbose: bool,
) -> anyhow::Result<()> {
    let count = scenario.servers.unwrap_or(stage.ports().len());
    let ports = stage.ports().get(..count).context("there are not as many servers")?;
    let mut actors = BTreeMap::new();
    for (turn, name) in scenario.clients.iter().enumerate() {
        let actor = Actor::start(client, ports, turn, drivers).await.with_context(|| format!("starting {name}"))?;
        actors.insert(name.clone(), actor);
    }
    let mut play = Play {
        scenario,
        stage,
        observer: Observer::start(stage.ports(), namespace)?,
        actors,
        kept: Kept::from([
            ("namespace".to_owned(), json!(namespace)),
            ("other_namespace".to_owned(), json!(format!("{namespace}-other"))),
        ]),
        started: BTreeMap::new(),
        heard: Heard::default(),
        harmed: None,
        verbose,
        began: Instant::now(),
    };
    if scenario.secured {
        play.kept.extend(stage.secured().await?.kept().clone());
    }
    play.connect(namespace).await?;
    for (number, step) in scenario.steps.iter().enumerate() {
        let number = number + 1;
        if let Err(error) = play.step(number, step).await {
            let error = error.context(format!("{}.yaml, step {number}", scenario.name));
            let logs = play.logs();
            return Err(if logs.is_empty() { error } else { error.context(logs) });
        }
    }
    for (name, actor) in &play.actors {
        if let Some(line) = actor.driver.conversation.nonsense() {
            bail!("{name} said something that is no answer: {line}");
        }
    }
    for (name, actor) in play.actors {
        actor.finish(client, drivers).await.context(name)?;
    }
    Ok(())
}

impl Play<'_> {
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
            fields.insert("endpoints".to_owned(), self.actors.get(name).context("a client")?.own["endpoints"].clone());
            fields.insert("namespace".to_owned(), json!(namespace));
            fields.extend(more.clone());
            let asked = self.ask(name, "connect", &fields).await?;
            self.answer(asked, PATIENCE).await?.answer.map_err(|error| anyhow!("{name} did not connect: {error}"))?;
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
            let asked = self.ask(at, "get_lock", &fields).await?;
            let Err(error) = self.answer(asked, START).await?.answer else { return Ok(()) };
            ensure!(began.elapsed() < START, "{error}");
            sleep(PAUSE).await;
        }
    }

    async fn step(&mut self, number: usize, step: &Step) -> anyhow::Result<()> {
        match &step.act {
            Act::Ask(ask) => {
                for time in 1..=ask.times {
                    self.kept.insert("time".to_owned(), json!(time.to_string()));
                    let done = self.perform(number, ask).await;
                    done.with_context(|| format!("{} at {}", ask.request, ask.at))?;
                }
                Ok(())
            }
            Act::Await(wait) => {
                let started = self.started.remove(&wait.started).context("it was not started")?;
                let result = self.expect(started, &wait.expected).await;
                let (started, result) =
                    result.map_or_else(|error| (None, Err(error)), |started| (Some(started), Ok(())));
                // Later steps may refer to it again.
                self.started.extend(started.map(|started| (wait.started.clone(), started)));
                result.with_context(|| format!("await {}", wait.started))
            }
            Act::Until(until) => self.until(number, until).await.context("until"),
            Act::Fault(fault) => self.fault(number, fault).await.with_context(|| format!("{:?}", fault.kind)),
            Act::Told(told) => self.told(number, told).await.with_context(|| format!("told by {}", told.watch)),
            Act::Pending(pending) => {
                for name in &pending.started {
                    let started = self.started.get_mut(name).context("it was not started")?;
                    if let Some(answered) = started.look() {
                        bail!("{name} is to be under way, but was answered {}", show(&answered.answer));
                    }
                }
                Ok(())
            }
            Act::Order(order) => self.order(&order.started),
            Act::That(that) => {
                let known = resolve(&that.that, &self.kept);
                compare(&that.is, &known, &mut self.kept).map_err(|mismatch| anyhow!("{}: {mismatch}", that.that))
            }
        }
    }

    async fn perform(&mut self, number: usize, ask: &Ask) -> anyhow::Result<()> {
        let mut known = self.kept.clone();
        known.extend(self.actors.get(&ask.at).context("a client")?.own.clone());
        let Value::Object(mut fields) = resolve(&Value::Object(ask.with.clone()), &known) else {
            bail!("no fields");
        };
        if ask.request == "cancel" {
            let name = fields.get("request").and_then(Value::as_str).context("which request?")?;
            let id = self.started.get(name).with_context(|| format!("{name} was not started"))?.id;
            fields.insert("request".to_owned(), json!(id));
        }
        self.say(number, || format!("{} > {} {}", ask.at, ask.request, Value::Object(fields.clone())));
        let started = self.ask(&ask.at, &ask.request, &fields).await?;
        if let Some(name) = &ask.start {
            self.started.insert(name.clone(), started);
            return Ok(());
        }
        self.expect(started, &ask.expected).await.map(drop)
    }

    /// Sends a request to a client.
    async fn ask(&mut self, client: &str, request: &str, fields: &Map<String, Value>) -> anyhow::Result<Started> {
        let actor = self.actors.get_mut(client).context("a client")?;
        let asked = Instant::now();
        let (id, answer) = actor.ask(request, fields).await?;
        Ok(Started { id, asked, answer: Some(answer), answered: None })
    }

    /// Requests the next item of a watch.
    pub(crate) async fn next_item(&mut self, client: &str, watch: &str, within: Duration) -> anyhow::Result<Value> {
        let fields = Map::from_iter([("watch".to_owned(), json!(watch))]);
        let asked = self.ask(client, "next", &fields).await?;
        let answered = self.answer(asked, within).await?;
        answered.answer.map_err(|error| anyhow!("an error: {error}"))
    }

    async fn answer(&mut self, started: Started, within: Duration) -> anyhow::Result<Answered> {
        let started = finish(started, within).await?;
        started.answered.context("an answer")
    }

    /// Waits for an answer, and compares it with the expectation.
    async fn expect(&mut self, started: Started, expected: &Expected) -> anyhow::Result<Started> {
        let started = finish(started, patience(expected.within_ms)).await?;
        let answered = started.answered.as_ref().context("an answer")?;
        let took = answered.at.saturating_duration_since(started.asked);
        self.say(0, || format!("  < {} after {} ms", show(&answered.answer), took.as_millis()));
        let wanted = |mismatch: Mismatch| anyhow!("{mismatch}\n    in {}", show(&answered.answer));
        match (&expected.expect, &expected.error, &answered.answer) {
            (_, Some(error), Err(said)) => compare(error, said, &mut self.kept).map_err(wanted)?,
            (Some(expect), _, Ok(said)) => compare(expect, said, &mut self.kept).map_err(wanted)?,
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
        let Value::Object(asked) = resolve(&Value::Object(until.until.clone()), &self.kept) else { bail!("no fields") };
        // New names are stored when the state matches.
        let wanted = observer::wanted(&until.until)?;
        self.say(number, || format!("until {wanted}"));
        let (within, began) = (patience(until.within_ms), Instant::now());
        loop {
            let problem = match timeout(within, self.observer.look(&asked)).await {
                Ok(Ok(seen)) => match compare(&wanted, &seen, &mut self.kept) {
                    Ok(()) => return Ok(()),
                    Err(mismatch) => format!("{mismatch}\n    in {seen}"),
                },
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => "no answer".to_owned(),
            };
            ensure!(began.elapsed() < within, "not so within {within:?}: {problem}");
            sleep(PAUSE).await;
        }
    }

    async fn fault(&mut self, number: usize, fault: &Fault) -> anyhow::Result<()> {
        let actor = fault.client.as_ref().and_then(|name| self.actors.get_mut(name));
        let shown = format!("{:?} {}", fault.kind, fault.client.as_deref().unwrap_or_default());
        match (fault.kind, actor) {
            (FaultKind::KillClient, Some(actor)) => actor.driver.kill().await,
            (FaultKind::FreezeClient, Some(actor)) => actor.driver.freeze().await?,
            (FaultKind::ThawClient, Some(actor)) => actor.driver.thaw(),
            (FaultKind::Cut, Some(actor)) => actor.cut(fault.how),
            (FaultKind::Heal, Some(actor)) => actor.heal(),
            (kind, actor) if kind.is_of_a_server() => {
                let server = match (fault.server, actor) {
                    (Some(server), _) => server.checked_sub(1).context("servers are counted from 1")?,
                    (None, Some(actor)) => actor.server()?,
                    (None, None) => self.harmed.context("which server?")?,
                };
                self.stage.harm_server(kind, server).await?;
                self.harmed = Some(server);
            }
            (kind, _) if kind.is_of_the_database() => self.stage.harm_database(kind).await?,
            _ => bail!("which client?"),
        }
        self.say(number, || shown);
        Ok(())
    }

    fn order(&mut self, names: &[String]) -> anyhow::Result<()> {
        let mut last: Option<(&String, Instant)> = None;
        for name in names {
            let started = self.started.get_mut(name).context("it was not started")?;
            let at = started.look().with_context(|| format!("{name} was not answered"))?.at;
            if let Some((before, earlier)) = last {
                ensure!(earlier <= at, "{name} was answered {:?} before {before}", earlier - at);
            }
            last = Some((name, at));
        }
        Ok(())
    }

    pub(crate) fn say<T: Display>(&self, number: usize, what: impl FnOnce() -> T) {
        if self.verbose {
            let number = if number == 0 { "   ".to_owned() } else { format!("{number:3}") };
            println!("{:9.3} {number} {}", self.began.elapsed().as_secs_f64(), what());
        }
    }

    /// The ends of the drivers' logs that are not empty.
    fn logs(&self) -> String {
        let logs = self.actors.iter().map(|(name, actor)| (name, actor.driver.conversation.log()));
        let logs: Vec<String> =
            logs.filter(|(_, log)| !log.is_empty()).map(|(name, log)| format!("the log of {name}:\n{log}\n")).collect();
        logs.concat()
    }
}

impl Started {
    /// The answer, if it has arrived.
    fn look(&mut self) -> Option<&Answered> {
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

pub(crate) fn patience(within_ms: Option<u64>) -> Duration {
    within_ms.map_or(PATIENCE, Duration::from_millis)
}

fn show(answer: &Result<Value, Value>) -> String {
    match answer {
        Ok(ok) => format!("{ok}"),
        Err(error) => format!("the error {error}"),
    }
}
