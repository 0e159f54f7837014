//! A client of the contract's stream without the library, for works in which the library would dominate the
//! measurement.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use prost::Message;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;
use tenure_proto::v1::{
    AcquireRequest, Command, KeepAliveRequest, KeptSession, OpenSessionRequest, StreamRequest, StreamResponse,
};

use crate::target::http2::Connection;

const PATH: &str = "/tenure.v1.ClientService/Stream";

/// The id of all renewals, of which only one at a time is in flight on a stream.
const RENEWAL: u64 = 1;

/// The limit of the wait for the answers to a request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection with streams.
#[derive(Debug)]
pub struct Raw {
    /// The connection that carries the streams.
    pub connection: Connection,
    /// The id of the last command.
    last_id: u64,
}

impl Raw {
    /// Opens one.
    pub async fn open(port: u16) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(port).await?, last_id: RENEWAL })
    }

    /// Begins a stream.
    pub fn begin(&mut self) -> u32 {
        self.connection.output().begin(PATH)
    }

    /// Sends commands, as one message on each stream, and waits for all results.
    ///
    /// # Errors
    /// If a command is rejected, or a lock is not free.
    pub async fn execute(&mut self, requests: impl IntoIterator<Item = (u32, Vec<Commanded>)>) -> anyhow::Result<()> {
        let mut left: usize = 0;
        for (stream, commands) in requests {
            let count = commands.len();
            left += count;
            let message = encode(self.last_id + 1, commands);
            self.connection.output().message(stream, &message);
            self.last_id += count as u64;
        }
        while left > 0 {
            let receive = self.connection.receive(|_, message, _| {
                left = left.checked_sub(successes(message)?).context("more answers than commands")?;
                Ok(())
            });
            tokio::time::timeout(TIMEOUT, receive).await.context("no answer")??;
        }
        Ok(())
    }
}

/// Opens a session and attaches it to the stream.
pub fn open_session(id: &str, ttl: Duration) -> anyhow::Result<Commanded> {
    open_session_with_grace(id, ttl, None)
}

/// Opens a session, with an optional disconnect grace, and attaches it to the stream.
pub fn open_session_with_grace(id: &str, ttl: Duration, grace: Option<Duration>) -> anyhow::Result<Commanded> {
    let disconnect_grace = grace.map(TryInto::try_into).transpose()?;
    Ok(Commanded::OpenSession(OpenSessionRequest {
        session_id: id.into(),
        ttl: Some(ttl.try_into()?),
        disconnect_grace,
        ..Default::default()
    }))
}

/// Acquires a free lock.
pub fn acquire(session: &str, name: String) -> Commanded {
    let wait = Some(prost_types::Duration::default());
    Commanded::Acquire(AcquireRequest { names: vec![name], session_id: session.into(), wait, ..Default::default() })
}

/// Renews these sessions with one command.
pub fn keep_alive(sessions: Vec<String>) -> Vec<u8> {
    encode(RENEWAL, vec![Commanded::KeepAlive(KeepAliveRequest { session_ids: sessions, ..Default::default() })])
}

/// The number of sessions that a message renewed.
///
/// # Errors
/// If it is another message, or a session was not renewed.
pub fn renewed(message: &[u8]) -> anyhow::Result<usize> {
    let mut count = 0;
    for answer in StreamResponse::decode(message)?.answers {
        let Some(Answered::KeepAlive(sessions)) = answer.kind else { bail!("no renewal: {:?}", answer.kind) };
        let is_renewed = |session: &KeptSession| session.ttl.is_some();
        ensure!(sessions.sessions.iter().all(is_renewed), "not all are renewed: {:?}", sessions.sessions);
        count += sessions.sessions.len();
    }
    Ok(count)
}

fn encode(first_id: u64, commands: Vec<Commanded>) -> Vec<u8> {
    let commands =
        commands.into_iter().zip(first_id..).map(|(kind, id)| Command { id, kind: Some(kind), ..Command::default() });
    StreamRequest { commands: commands.collect() }.encode_to_vec()
}

/// The number of commands that a message reports as successful.
fn successes(message: &[u8]) -> anyhow::Result<usize> {
    let answers = StreamResponse::decode(message)?.answers;
    for answer in &answers {
        match &answer.kind {
            Some(Answered::Refusal(refusal)) => bail!("rejected: {refusal:?}"),
            Some(Answered::Acquire(acquired)) => ensure!(acquired.acquired, "a lock is not free"),
            _ => ensure!(answer.id != 0, "a notice: {:?}", answer.kind),
        }
    }
    Ok(answers.len())
}
