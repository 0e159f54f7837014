//! The flood: raw streams that acquire and release locks at a given pace, beyond the server's capacity.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use anyhow::{Context, ensure};
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::{Change, Changes, ConnectRequest, Declaration, DeclaredClaim, State, change, state};
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

/// The maximum number of changes in one message: the contract's bound.
const CHANGES: usize = 1_000;

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
            let (turns, unsent) = (HashMap::new(), VecDeque::new());
            streams.push(Stream { number, connection, next: SESSIONS as u64, turns, unsent });
        }
        Ok(Self(streams))
    }

    /// Runs at this pace for a time, and waits until all turns have ended.
    ///
    /// # Errors
    /// If a stream ends, or a change has no effect.
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
            let close = (1..=SESSIONS as u64).map(|number| changed(change::Kind::Withdraw(number))).collect();
            stream.connection.send(Sent::Changes(Changes { changes: close })).await?;
            let mut missing = SESSIONS;
            while missing > 0 {
                if let Received::States(states) = stream.connection.receive().await? {
                    missing = missing.saturating_sub(states.states.len());
                }
            }
        }
        Ok(())
    }
}

/// An arrival, which acquires and releases a lock.
struct Turn {
    arrived: Instant,
    /// Once the lock is to be released: whether the grant was in time.
    granted: Option<bool>,
}

struct Stream {
    number: usize,
    connection: ClientStream,
    /// The number of the last claim.
    next: u64,
    /// The turns under way, by the number of their claim.
    turns: HashMap<u64, Turn>,
    /// Claims to declare or to withdraw that the connection has not accepted yet.
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
            ensure!(now < start + time + LAST, "{} changes had no effect within {LAST:?}", self.turns.len());
            self.send(now, &mut tally)?;
            tokio::select! {
                received = self.connection.receive() => {
                    let now = Instant::now();
                    let Received::States(states) = received? else { continue };
                    for state in states.states {
                        self.handle(state, now, now < start + time, &mut tally)?;
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
            self.turns.insert(self.next, Turn { arrived: now, granted: None });
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
            let mut changes = Vec::new();
            while changes.len() < CHANGES
                && let Some(number) = self.unsent.pop_front()
            {
                let turn = self.turns.get(&number).context("an unsent change without a turn")?;
                if turn.granted.is_none() && now > turn.arrived + TIMEOUT {
                    self.turns.remove(&number);
                    tally.cancelled += 1;
                    continue;
                }
                changes.push(changed(self.change(number, turn)));
            }
            if !changes.is_empty() {
                permit.send(ConnectRequest { kind: Some(Sent::Changes(Changes { changes })) });
            }
        }
        Ok(())
    }

    fn change(&self, number: u64, turn: &Turn) -> change::Kind {
        if turn.granted.is_some() {
            return change::Kind::Withdraw(number);
        }
        let names = vec![format!("flood/{}/{number}", self.number)];
        let (session, claims) =
            (number % SESSIONS as u64 + 1, vec![DeclaredClaim { number, names, ..Default::default() }]);
        change::Kind::Declare(Declaration { session, claims, ..Declaration::default() })
    }

    fn handle(&mut self, state: State, now: Instant, counts: bool, tally: &mut Tally) -> anyhow::Result<()> {
        let mut turn = self.turns.remove(&state.number).with_context(|| format!("an unexpected state: {state:?}"))?;
        let took = now - turn.arrived;
        match (state.kind, turn.granted) {
            (Some(state::Kind::Held(_)), None) => {
                let in_time = took <= TIMEOUT;
                if in_time {
                    tally.granted.push(took);
                } else {
                    tally.late += 1;
                }
                turn.granted = Some(in_time);
                self.turns.insert(state.number, turn);
                self.unsent.push_back(state.number);
            }
            (Some(state::Kind::Ended(_)), Some(in_time)) => tally.done += usize::from(counts && in_time),
            (Some(state::Kind::Rejected(refusal)), None) if refusal.reason == "OVERLOADED" => tally.shed.push(took),
            (other, granted) => {
                let what = if granted.is_some() { "release" } else { "acquire" };
                *tally.unexpected.entry(format!("{what}: {other:?}")).or_default() += 1;
            }
        }
        Ok(())
    }
}

fn changed(kind: change::Kind) -> Change {
    Change { kind: Some(kind), ..Change::default() }
}

/// The number of unexpected replies, by description.
pub type Unexpected = BTreeMap<String, usize>;
