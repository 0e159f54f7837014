//! The flood: raw streams that acquire and release locks at a given pace, beyond the server's capacity.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use anyhow::{Context, ensure};
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{AcquireRequest, Answer, CloseSessionRequest, Command, ReleaseRequest, StreamRequest};
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::tally::Tally;
use crate::client_stream::ClientStream;

/// The number of streams, each on its own connection, and the number of sessions of each.
pub const STREAMS: usize = 16;
const SESSIONS: usize = 32;

/// Longer than any run, so that these sessions need no renewals.
const TTL: Duration = Duration::from_secs(3_600);

/// How long a caller waits for a reply. After that it no longer needs the lock, and releases it as soon as it is
/// granted.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of concurrent turns of one stream. The client itself rejects arrivals beyond it. Well below the
/// limit of a server for one stream; all streams together far exceed the server's queue limit.
pub const MAX_TURNS: usize = 6_000;

/// The interval at which arrivals are admitted.
const TICK: Duration = Duration::from_millis(2);

/// The maximum number of commands in one message: the contract's bound.
const COMMANDS: usize = 1_000;

/// How long the last replies may take. No request hangs: see L4 of the design.
const LAST: Duration = Duration::from_secs(60);

/// The arrival process.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// Closed loop: this many turns are under way at a time, on all streams together.
    Closed(usize),
    /// Open loop: this many arrivals per second on all streams together, regardless of earlier ones.
    Open(f64),
}

/// The streams.
pub struct Flood(Vec<Stream>);

impl Flood {
    /// Opens the streams.
    ///
    /// # Errors
    /// If the server cannot be reached, or rejects a session.
    pub async fn begin(url: &str) -> anyhow::Result<Self> {
        let mut streams = Vec::new();
        for number in 0..STREAMS {
            let sessions: Vec<String> = (0..SESSIONS).map(|session| format!("flood-{number}-{session}")).collect();
            let connection = ClientStream::open(url, &sessions, TTL).await?;
            streams.push(Stream {
                number,
                connection,
                sessions,
                next: 0,
                turns: HashMap::new(),
                unsent: VecDeque::new(),
            });
        }
        Ok(Self(streams))
    }

    /// Runs at this pace for a time, and waits until all commands are answered.
    ///
    /// # Errors
    /// If a stream ends, or a command is never answered.
    pub async fn run(self, pace: Pace, time: Duration) -> anyhow::Result<(Self, Tally)> {
        let mut running = JoinSet::new();
        let part = match pace {
            Pace::Closed(turns) => Pace::Closed((turns / STREAMS).max(1)),
            Pace::Open(rate) => Pace::Open(rate / STREAMS as f64),
        };
        for mut stream in self.0 {
            running.spawn(async move { stream.run(part, time).await.map(|tally| (stream, tally)) });
        }
        let (mut streams, mut all) = (Vec::new(), Tally::default());
        while let Some(ended) = running.join_next().await {
            let (stream, tally) = ended??;
            streams.push(stream);
            all.add(tally);
        }
        all.time = time;
        Ok((Self(streams), all))
    }

    /// Closes all sessions.
    ///
    /// # Errors
    /// If a stream has ended.
    pub async fn end(self) -> anyhow::Result<()> {
        for mut stream in self.0 {
            let close = stream.sessions.iter().zip(1..).map(|(session, id)| {
                let request = CloseSessionRequest { session_id: session.clone(), ..CloseSessionRequest::default() };
                (id, Kind::CloseSession(request))
            });
            stream.connection.send(close).await?;
            let mut missing = stream.sessions.len();
            while missing > 0 {
                missing = missing.saturating_sub(stream.connection.receive().await?.len());
            }
        }
        Ok(())
    }
}

/// An arrival, which acquires and releases a lock.
struct Turn {
    arrived: Instant,
    name: String,
    session: usize,
    /// The token, once the lock is to be released, and whether the grant was in time.
    granted: Option<(u64, bool)>,
}

struct Stream {
    number: usize,
    connection: ClientStream,
    sessions: Vec<String>,
    /// The number of arrivals so far.
    next: u64,
    /// The turns under way, by the id of their command.
    turns: HashMap<u64, Turn>,
    /// Commands that the connection has not accepted yet.
    unsent: VecDeque<u64>,
}

impl Stream {
    async fn run(&mut self, pace: Pace, time: Duration) -> anyhow::Result<Tally> {
        let (start, mut tally) = (Instant::now(), Tally::default());
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = Instant::now();
            if now < start + time {
                self.admit(pace, now, now - start, &mut tally);
            } else if self.turns.is_empty() {
                return Ok(tally);
            }
            ensure!(now < start + time + LAST, "{} commands were not answered within {LAST:?}", self.turns.len());
            self.send(now, &mut tally)?;
            tokio::select! {
                answers = self.connection.receive() => {
                    let now = Instant::now();
                    for answer in answers? {
                        self.handle(answer, now, now < start + time, &mut tally)?;
                    }
                }
                _ = tick.tick() => {}
            }
        }
    }

    /// Admits the arrivals due by now.
    fn admit(&mut self, pace: Pace, now: Instant, since: Duration, tally: &mut Tally) {
        let (due, most) = match pace {
            Pace::Closed(turns) => (turns.saturating_sub(self.turns.len()), turns),
            Pace::Open(rate) => ((rate * since.as_secs_f64()) as usize - tally.offered, MAX_TURNS),
        };
        for _ in 0..due {
            tally.offered += 1;
            if self.turns.len() >= most {
                tally.not_started += 1;
                continue;
            }
            self.next += 1;
            let name = format!("flood/{}/{}", self.number, self.next);
            let session = self.next as usize % self.sessions.len();
            self.turns.insert(self.next, Turn { arrived: now, name, session, granted: None });
            self.unsent.push_back(self.next);
        }
    }

    /// Sends as much as the connection accepts. An arrival that has waited too long is cancelled.
    fn send(&mut self, now: Instant, tally: &mut Tally) -> anyhow::Result<()> {
        while !self.unsent.is_empty() {
            let permit = match self.connection.requests.try_reserve() {
                Ok(permit) => permit,
                Err(TrySendError::Full(())) => return Ok(()),
                Err(TrySendError::Closed(())) => anyhow::bail!("the stream has ended"),
            };
            let mut commands = Vec::new();
            while commands.len() < COMMANDS
                && let Some(id) = self.unsent.pop_front()
            {
                let turn = self.turns.get(&id).context("an unsent command without a turn")?;
                if turn.granted.is_none() && now > turn.arrived + TIMEOUT {
                    self.turns.remove(&id);
                    tally.cancelled += 1;
                    continue;
                }
                commands.push(Command { id, kind: Some(self.command(turn)), ..Command::default() });
            }
            if !commands.is_empty() {
                permit.send(StreamRequest { commands });
            }
        }
        Ok(())
    }

    fn command(&self, turn: &Turn) -> Kind {
        let (name, session_id) = (turn.name.clone(), self.sessions[turn.session].clone());
        match turn.granted {
            None => Kind::Acquire(AcquireRequest {
                names: vec![name],
                session_id,
                wait: Some(prost_types::Duration::default()),
                ..AcquireRequest::default()
            }),
            Some((token, _)) => Kind::Release(ReleaseRequest { name, session_id, token, ..ReleaseRequest::default() }),
        }
    }

    fn handle(&mut self, answer: Answer, now: Instant, counts: bool, tally: &mut Tally) -> anyhow::Result<()> {
        let mut turn = self.turns.remove(&answer.id).with_context(|| format!("an unexpected reply: {answer:?}"))?;
        let took = now - turn.arrived;
        match (answer.kind, turn.granted) {
            (Some(Answered::Acquire(acquired)), None) if acquired.acquired => {
                let in_time = took <= TIMEOUT;
                if in_time {
                    tally.granted.push(took);
                } else {
                    tally.late += 1;
                }
                turn.granted = Some((acquired.token, in_time));
                self.turns.insert(answer.id, turn);
                self.unsent.push_back(answer.id);
            }
            (Some(Answered::Release(_)), Some((_, in_time))) => tally.done += usize::from(counts && in_time),
            (Some(Answered::Refusal(refusal)), granted) => {
                if refusal.reason == "OVERLOADED" && granted.is_none() {
                    tally.shed.push(took);
                } else {
                    let what = if granted.is_some() { "release" } else { "acquire" };
                    *tally.unexpected.entry(format!("{what}: {} ({})", refusal.reason, refusal.code)).or_default() += 1;
                }
            }
            (other, _) => *tally.unexpected.entry(format!("{other:?}")).or_default() += 1,
        }
        Ok(())
    }
}

/// The number of unexpected replies, by description.
pub type Unexpected = BTreeMap<String, usize>;
