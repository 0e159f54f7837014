//! Clients that make changes continuously, and record the answers with their times.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    AcquireRequest, CloseSessionRequest, ConfigureGroupRequest, ConfigureLockRequest, LockSettings, OpenSessionRequest,
    ReleaseRequest,
};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

use crate::disk::{Disk, Unflushed};

/// Far longer than a run: no session expires.
const TTL: prost_types::Duration = prost_types::Duration { seconds: 86_400, nanos: 0 };

/// The timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of clients, by turns: a single one, whose answer is not followed by another flush that would hide an
/// unflushed change; and several, whose changes are committed together.
const CLIENTS: [usize; 8] = [1, 4, 1, 3, 1, 6, 1, 2];

/// The maximum number of holds of a client.
const HOLDS: usize = 12;

/// The number of clients on a failing disk, and their timeout for an answer.
const FAILING_CLIENTS: usize = 4;
const FAILING_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of names that the clients contend for.
const SHARED: usize = 8;

/// An acknowledged change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A session was opened.
    Opened { session: String },
    /// A session is closed.
    Closed { session: String },
    /// These locks were granted.
    Granted { token: u64, names: Vec<String>, session: String },
    /// The hold has ended.
    Released { token: u64 },
    /// A lock has this limit.
    Limited { name: String, limit: u32 },
    /// A group has this config.
    Configured { group: String, config: String, revision: u64 },
}

/// An answer, with the positions in the write log of its request and its arrival.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The position in the write log when the client sent the request.
    pub(crate) requested_at: usize,
    /// The position in the write log as soon as the client had received the answer.
    pub(crate) received_at: usize,
    /// The acknowledged change.
    pub(crate) change: Change,
}

/// The answers that clients have received so far.
type Answers = Arc<Mutex<Vec<Answer>>>;

/// Runs clients until they have received `count` answers, which are returned in order.
pub(crate) async fn run(url: &str, disk: &Disk, count: usize, random: &mut StdRng) -> anyhow::Result<Vec<Answer>> {
    let channel = Endpoint::from_shared(url.to_owned())?.timeout(TIMEOUT).connect().await.context("connecting")?;
    let answers = Answers::default();
    for (turn, clients) in CLIENTS.into_iter().enumerate() {
        let enough = count * (turn + 1) / CLIENTS.len();
        let mut tasks = JoinSet::new();
        for number in 0..clients {
            let client = Client::new(format!("client {turn}.{number}"), &channel, disk, random, &answers);
            tasks.spawn(client.work(enough));
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
    }
    Ok(in_order(&answers))
}

/// Runs clients on a disk whose flushes begin to fail after some answers, until they have received some more, or each
/// has received an error, after which it does not know whether its change was made.
pub(crate) async fn run_on_failing(
    url: &str,
    disk: &Disk,
    failing: Failing,
    random: &mut StdRng,
) -> anyhow::Result<Vec<Answer>> {
    let channel =
        Endpoint::from_shared(url.to_owned())?.timeout(FAILING_TIMEOUT).connect().await.context("connecting")?;
    let answers = Answers::default();
    let mut tasks = JoinSet::new();
    for number in 0..FAILING_CLIENTS {
        let client = Client::new(format!("client {number}"), &channel, disk, random, &answers);
        tasks.spawn(client.work_until_error(failing));
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(in_order(&answers))
}

fn in_order(answers: &Answers) -> Vec<Answer> {
    let mut answers = std::mem::take(&mut *locked(answers));
    answers.sort_by_key(|answer| answer.received_at);
    answers
}

fn locked(answers: &Answers) -> MutexGuard<'_, Vec<Answer>> {
    answers.lock().expect("no panic while the answers are locked")
}

/// The schedule of flush failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failing {
    /// The number of answers before the first failure.
    pub(crate) after: usize,
    /// The number of flushes that fail.
    pub(crate) flushes: usize,
    /// The effect on unflushed writes.
    pub(crate) unflushed: Unflushed,
    /// The number of further answers after which the clients stop.
    pub(crate) more: usize,
}

struct Client {
    name: String,
    channel: Channel,
    disk: Disk,
    random: StdRng,
    session: Option<String>,
    /// Makes names unique.
    count: usize,
    /// The name and the token of each hold.
    held: Vec<(String, u64)>,
    /// The last request, if it was to end something.
    ending: Option<Change>,
    answers: Answers,
}

impl Client {
    fn new(name: String, channel: &Channel, disk: &Disk, random: &mut StdRng, answers: &Answers) -> Self {
        Self {
            name,
            channel: channel.clone(),
            disk: disk.clone(),
            random: StdRng::seed_from_u64(random.random()),
            session: None,
            count: 0,
            held: Vec::new(),
            ending: None,
            answers: Arc::clone(answers),
        }
    }

    async fn work(mut self, enough: usize) -> Result<(), tonic::Status> {
        while locked(&self.answers).len() < enough {
            let requested_at = self.disk.position();
            let change = self.change_something().await?;
            self.record(requested_at, change);
        }
        Ok(())
    }

    async fn work_until_error(mut self, failing: Failing) {
        let mut answers = 0;
        while answers < failing.after + failing.more {
            let requested_at = self.disk.position();
            self.ending = None;
            let Ok(change) = self.change_something().await else {
                if let Some(change) = self.ending.take() {
                    locked(&self.answers).push(Answer { requested_at, received_at: usize::MAX, change });
                }
                return;
            };
            answers = self.record(requested_at, change);
            if answers == failing.after {
                self.disk.fail_flushes(failing.flushes, failing.unflushed);
            }
        }
    }

    /// Records an answer, if any. Returns the number of answers so far.
    fn record(&self, requested_at: usize, change: Option<Change>) -> usize {
        let received_at = self.disk.position();
        let mut answers = locked(&self.answers);
        answers.extend(change.map(|change| Answer { requested_at, received_at, change }));
        answers.len()
    }

    async fn change_something(&mut self) -> Result<Option<Change>, tonic::Status> {
        self.count += 1;
        let Some(session) = self.session.clone() else { return self.open().await.map(Some) };
        match self.random.random_range(0..100) {
            0..50 if self.held.len() < HOLDS => self.acquire(session).await,
            50..60 => self.limit().await.map(Some),
            60..70 => self.configure().await.map(Some),
            70..74 => self.close(session).await.map(Some),
            _ if self.held.is_empty() => self.acquire(session).await,
            _ => self.release(session).await.map(Some),
        }
    }

    async fn open(&mut self) -> Result<Change, tonic::Status> {
        let session = format!("{} session {}", self.name, self.count);
        let owner = self.name.clone();
        let request =
            OpenSessionRequest { session_id: session.clone(), owner, ttl: Some(TTL), ..OpenSessionRequest::default() };
        SessionServiceClient::new(self.channel.clone()).open_session(request).await?;
        self.session = Some(session.clone());
        Ok(Change::Opened { session })
    }

    async fn close(&mut self, session: String) -> Result<Change, tonic::Status> {
        self.ending = Some(Change::Closed { session: session.clone() });
        let request = CloseSessionRequest { session_id: session.clone(), ..CloseSessionRequest::default() };
        SessionServiceClient::new(self.channel.clone()).close_session(request).await?;
        self.session = None;
        self.held.clear();
        Ok(Change::Closed { session })
    }

    /// Acquires uncontended locks, or one that others contend for, which may be rejected.
    async fn acquire(&mut self, session: String) -> Result<Option<Change>, tonic::Status> {
        let shared = format!("shared {}", self.random.random_range(0..SHARED));
        let names = match self.random.random_range(0..10) {
            0..3 if !self.held.iter().any(|(name, _)| *name == shared) => vec![shared],
            0..7 => vec![format!("{} lock {}", self.name, self.count)],
            _ => (0..3).map(|part| format!("{} lock {} part {part}", self.name, self.count)).collect(),
        };
        let request = AcquireRequest {
            names: names.clone(),
            session_id: session.clone(),
            wait: Some(prost_types::Duration::default()),
            ..AcquireRequest::default()
        };
        let answer = LockServiceClient::new(self.channel.clone()).acquire(request).await?.into_inner();
        if !answer.acquired {
            return Ok(None);
        }
        self.held.push((names[0].clone(), answer.token));
        Ok(Some(Change::Granted { token: answer.token, names, session }))
    }

    async fn release(&mut self, session_id: String) -> Result<Change, tonic::Status> {
        let (name, token) = self.held.swap_remove(self.random.random_range(0..self.held.len()));
        self.ending = Some(Change::Released { token });
        let request = ReleaseRequest { name, session_id, token, ..ReleaseRequest::default() };
        LockServiceClient::new(self.channel.clone()).release(request).await?;
        Ok(Change::Released { token })
    }

    async fn limit(&mut self) -> Result<Change, tonic::Status> {
        let (name, limit) = (format!("{} limited {}", self.name, self.count), self.random.random_range(1..100));
        let request = ConfigureLockRequest {
            name: name.clone(),
            settings: Some(LockSettings { limit, preempt: None }),
            operator: self.name.clone(),
            ..ConfigureLockRequest::default()
        };
        LockServiceClient::new(self.channel.clone()).configure_lock(request).await?;
        Ok(Change::Limited { name, limit })
    }

    async fn configure(&mut self) -> Result<Change, tonic::Status> {
        let (group, config) = (format!("{} group", self.name), format!("{}", self.count));
        let request = ConfigureGroupRequest {
            group: group.clone(),
            config: Some(config.clone()),
            ..ConfigureGroupRequest::default()
        };
        let answer = GroupServiceClient::new(self.channel.clone()).configure_group(request).await?.into_inner();
        Ok(Change::Configured { group, config, revision: answer.config_revision })
    }
}
