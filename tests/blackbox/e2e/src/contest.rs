//! Runs several candidates for one lock, records their actions, and checks them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tenure_harness::freeze_process;
use tenure_proto::v1::ListSessionsRequest;

use crate::calls::Calls;
use crate::timeline::{Action, Entry, clock};

/// The lock that is contested.
pub const LOCK: &str = "service_leader";

/// The timeout of every wait, unless a test gives another.
const PATIENCE: Duration = Duration::from_secs(30);

/// The poll interval of the entries.
const POLL: Duration = Duration::from_millis(5);

/// The number of entries that a failure shows.
const SHOWN: usize = 40;

/// Several candidates.
#[derive(Debug)]
pub struct Contest {
    program: String,
    endpoints: String,
    ttl: Duration,
    grace: Option<Duration>,
    period: Duration,
    candidates: BTreeMap<u32, Child>,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Contest {
    /// Starts `count` candidates. `program` is the path of the candidate program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        program: &str,
        endpoints: &[String],
        ttl: Duration,
        period: Duration,
        count: usize,
    ) -> anyhow::Result<Self> {
        Self::start_with(program, endpoints, ttl, None, period, count)
    }

    /// Starts `count` candidates whose sessions have a disconnect grace.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_with(
        program: &str,
        endpoints: &[String],
        ttl: Duration,
        grace: Option<Duration>,
        period: Duration,
        count: usize,
    ) -> anyhow::Result<Self> {
        let mut contest = Self {
            program: program.to_owned(),
            endpoints: endpoints.join(","),
            ttl,
            grace,
            period,
            candidates: BTreeMap::new(),
            entries: Arc::default(),
        };
        for _ in 0..count {
            contest.add()?;
        }
        Ok(contest)
    }

    /// Starts one more candidate.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn add(&mut self) -> anyhow::Result<()> {
        let milliseconds = |span: Duration| span.as_millis().to_string();
        let mut child = Command::new(Path::new(&self.program))
            .args([&self.endpoints, LOCK, &milliseconds(self.ttl), &milliseconds(self.period)])
            .args(self.grace.map(milliseconds))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a candidate")?;
        let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let (process, entries) = (child.id(), Arc::clone(&self.entries));
        std::thread::spawn(move || {
            // A killed process may leave a partial line.
            for entry in lines.map_while(Result::ok).filter_map(|line| Entry::parse(process, &line).ok()) {
                entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
            }
        });
        self.candidates.insert(process, child);
        Ok(())
    }

    /// All entries so far, ordered by time.
    #[must_use]
    pub fn timeline(&self) -> Vec<Entry> {
        let mut timeline = self.entries().clone();
        timeline.sort_by_key(|entry| entry.at);
        timeline
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next matching entry after `after`, and returns it.
    ///
    /// # Panics
    /// If there is none in time.
    pub async fn next(&self, after: Duration, what: &str, wanted: impl Fn(&Entry) -> bool) -> Entry {
        let find = || self.timeline().into_iter().find(|entry| entry.at > after && wanted(entry));
        let begun = Instant::now();
        loop {
            if let Some(found) = find() {
                return found;
            }
            if begun.elapsed() > PATIENCE {
                let timeline = self.timeline();
                let last = &timeline[timeline.len().saturating_sub(SHOWN)..];
                panic!("timeout while waiting: {what}\n{last:#?}\n{}", self.server_states().await);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The lock and the sessions according to the servers, for failure messages.
    async fn server_states(&self) -> String {
        let mut seen = String::new();
        for url in self.endpoints.split(',') {
            let state = match Calls::connect(url).await {
                Ok(calls) => {
                    let all = ListSessionsRequest::default();
                    let sessions = calls.sessions.clone().list_sessions(all).await.map(tonic::Response::into_inner);
                    format!("{:#?}\n{sessions:#?}", calls.lock(LOCK).await)
                }
                Err(error) => format!("{error:#}"),
            };
            seen.push_str(&format!("{url} at {:?}: {state}\n", clock()));
        }
        seen
    }

    /// Waits until one of the living candidates works, and returns the entry with which it began to lead.
    ///
    /// # Panics
    /// If no candidate does in time.
    pub async fn leader(&self) -> Entry {
        let work = self.next(clock(), "a candidate works", |entry| matches!(entry.action, Action::Works { .. })).await;
        let leads = |entry: &Entry| matches!(entry.action, Action::Leads { .. }) && entry.token() == work.token();
        self.timeline().into_iter().find(leads).unwrap_or(work)
    }

    /// The last renewal of a candidate.
    #[must_use]
    pub fn last_renewal(&self, process: u32) -> Option<Duration> {
        let renewed = |entry: &&Entry| entry.process == process && entry.action == Action::Renewed;
        self.timeline().iter().rfind(renewed).map(|entry| entry.at)
    }

    /// Kills a candidate with SIGKILL. Returns the time just before.
    ///
    /// # Errors
    /// If there is no such candidate.
    pub fn kill(&mut self, process: u32) -> anyhow::Result<Duration> {
        let mut child = self.candidates.remove(&process).context("no such candidate")?;
        // Taken before the kill, so that no effect of it seems to precede it.
        let at = clock();
        child.kill()?;
        child.wait()?;
        Ok(at)
    }

    /// Freezes a candidate; its connections stay open.
    ///
    /// # Errors
    /// If there is no such candidate, or it does not stop.
    pub async fn freeze(&self, process: u32) -> anyhow::Result<()> {
        freeze_process(self.process(process)?).await
    }

    /// Resumes a candidate.
    ///
    /// # Errors
    /// If there is no such candidate.
    pub fn thaw(&self, process: u32) -> anyhow::Result<()> {
        Ok(kill_process(self.process(process)?, Signal::CONT)?)
    }

    fn process(&self, process: u32) -> anyhow::Result<Pid> {
        self.candidates.get(&process).map(Pid::from_child).context("no such candidate")
    }

    /// Checks the invariants of every contest: no two candidates work under the same token, and tokens only rise.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub fn check(&self) {
        let timeline = self.timeline();
        let mut owners = BTreeMap::new();
        let mut highest = 0;
        for entry in &timeline {
            let Some(token) = entry.token() else { continue };
            let owner = *owners.entry(token).or_insert(entry.process);
            assert_eq!(owner, entry.process, "two processes under token {token}: {timeline:#?}");
            assert!(token >= highest, "token {token} after {highest}: {timeline:#?}");
            highest = token;
        }
        assert!(highest > 0, "no candidate ever led: {timeline:#?}");
    }
}

impl Drop for Contest {
    fn drop(&mut self) {
        for child in self.candidates.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
