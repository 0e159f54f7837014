//! The client libraries of all languages, through the drivers of the scenarios.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tenure_scenarios::{ClientSpec, DriverChannel};

use crate::measure::{Figures, Latency, Load};
use crate::result::Round;
use crate::target::start_now;
use crate::target::store::Database;
use crate::target::tenure::Cluster;
use crate::work::{Bound, Candidate, Goal, Levels, Subject, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "languages",
        title: "A client in each language acquires a lock in its session and releases it, over and over, alone. One turn is \
                such a pair; `call_ms` is the median of an empty call of the same language, made after each pair. Then it \
                acquires so many locks at the same time, which takes `held_ms`, and releases them, `released_ms`. The \
                server's data is in memory, so that no disk is measured.",
        level: "locks",
        levels: Levels::Own { full: &LEVELS, quick: &[100] },
        candidates: LANGUAGES.map(candidate).into(),
        goals: Goal::limited(
            "libraries",
            vec![
                goal("Rust: a pair against an empty call", |round| pair_by_call(round, "rust")),
                goal("Go: a pair against an empty call", |round| pair_by_call(round, "go")),
                goal("Python: a pair against an empty call", |round| pair_by_call(round, "python")),
                goal("Java: a pair against an empty call", |round| pair_by_call(round, "java")),
                goal("TypeScript: a pair against an empty call", |round| pair_by_call(round, "typescript")),
                Goal::new(
                    "10,000 locks: their acquisition against that of 1,000, the slowest language",
                    Bound::AtMost(12.0),
                    |round| LANGUAGES.iter().filter_map(|language| growth(round, language)).max_by(f64::total_cmp),
                ),
            ],
        ),
    }
}

const LANGUAGES: [&str; 5] = ["rust", "go", "python", "java", "typescript"];

const LEVELS: [usize; 2] = [1_000, 10_000];

/// The number of pairs.
const TURNS: usize = 2_000;

/// The number of pairs before them, which are not counted: some languages compile what runs often.
const WARM_UP: usize = 2_000;

/// A file system in memory.
const MEMORY: &str = "/dev/shm";

/// The limit of each request.
const TIMEOUT: Duration = Duration::from_secs(120);

fn goal(text: &'static str, value: fn(&Round) -> Option<f64>) -> Goal {
    Goal::new(text, Bound::AtMost(2.5), value)
}

fn target(language: &str) -> String {
    format!("tenure-{language}-sqlite")
}

fn pair_by_call(round: &Round, language: &str) -> Option<f64> {
    let (target, level) = (target(language), LEVELS[0]);
    Some(round.p50(&target, level)? / round.extra(&target, level, "call_ms")?)
}

fn growth(round: &Round, language: &str) -> Option<f64> {
    let [few, many] = LEVELS.map(|level| round.extra(&target(language), level, "held_ms"));
    Some(many? / few?)
}

fn candidate(language: &'static str) -> Candidate {
    let candidate = Candidate::new(target(language), async move |_| Library::start(language).await);
    // The short form is for what is built with it.
    if language == "rust" { candidate } else { candidate.only_at(&LEVELS) }
}

struct Library {
    spec: ClientSpec,
    cluster: Cluster,
    _data: TempDir,
}

impl Library {
    async fn start(language: &str) -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let all = ClientSpec::load_all(&root.join("tests/blackbox/scenarios/clients.toml"), &root)?;
        let mut spec = all.into_iter().find(|spec| spec.name == language).context("no such client")?;
        spec.build().await?;
        // The programs of scenarios are short, those of users are not.
        spec.run.retain(|argument| argument != "-XX:TieredStopAtLevel=1");
        if language == "rust" && !cfg!(debug_assertions) {
            spec.run.iter_mut().for_each(|word| *word = word.replace("/debug/", "/release/"));
        }
        let data = tempfile::Builder::new().prefix("tenure-").tempdir_in(MEMORY)?;
        let url = format!("sqlite:{}", data.path().join("tenure.db").display());
        let database = Database { url: Some(url), process: None };
        Ok(Self { spec, cluster: start_now(Cluster::start(database, 1, &[]))?, _data: data })
    }
}

#[async_trait]
impl Subject for Library {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let (mut driver, mut channel) = DriverChannel::begin(self.spec.driver()?)?;
        let endpoint = self.cluster.servers().first().context("no server")?.url();
        ask(&mut channel, "connect", json!({"client": "c", "endpoints": [endpoint]})).await?;
        ask(&mut channel, "session", json!({"client": "c", "session": "s", "owner": "bench"})).await?;
        let (warm_up, turns) = if load.quick { (1, 10) } else { (WARM_UP, TURNS) };
        let measure = |turns| json!({"session": "s", "endpoint": endpoint, "turns": turns});
        ask(&mut channel, "measure", measure(warm_up)).await?;
        let measured = ask(&mut channel, "measure", measure(turns)).await?;
        let held = ask(&mut channel, "hold_many", json!({"session": "s", "count": load.level})).await?;
        ask(&mut channel, "close", json!({"client": "c"})).await?;
        driver.kill().await.context("ending the driver")?;

        let calls = Latency::of(times(&measured["calls_us"])?).context("no calls")?;
        let ms = |field: &str| -> anyhow::Result<f64> { Ok(us(&held[field])?.as_secs_f64() * 1e3) };
        Ok(Figures { latency: Latency::of(times(&measured["pairs_us"])?), ..Figures::default() }
            .with("call_ms", calls.p50)
            .with("held_ms", ms("held_us")?)
            .with("released_ms", ms("released_us")?))
    }
}

async fn ask(channel: &mut DriverChannel, request: &str, fields: Value) -> anyhow::Result<Value> {
    let fields: Map<String, Value> = serde_json::from_value(fields)?;
    let (_, answer) = channel.ask(request, &fields).await?;
    let answered = tokio::time::timeout(TIMEOUT, answer).await.with_context(|| format!("no reply to {request}"))?;
    match answered.map(|answered| answered.answer) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => bail!("{request}: {error}"),
        Err(_) => bail!("the driver ended:\n{}", channel.log()),
    }
}

fn us(time: &Value) -> anyhow::Result<Duration> {
    Ok(Duration::from_micros(time.as_u64().context("not a time")?))
}

fn times(list: &Value) -> anyhow::Result<Vec<Duration>> {
    list.as_array().context("not a list")?.iter().map(us).collect()
}
