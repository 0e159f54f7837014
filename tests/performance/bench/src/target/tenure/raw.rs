//! Clients of the declared stream without the library, for works in which the library would dominate the measurement.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, bail};
use prost::Message;
use tenure_proto::v1::change::Kind as Wanted;
use tenure_proto::v1::connect_request::Kind as Request;
use tenure_proto::v1::connect_response::Kind as Response;
use tenure_proto::v1::state::Kind as Current;
use tenure_proto::v1::{
    Change, Changes, ConnectRequest, ConnectResponse, Declaration, DeclaredClaim, DeclaredSession, Hello, KeepAlive,
    State,
};

use crate::target::http2::Connection;

const PATH: &str = "/tenure.v1.ClientService/Connect";

/// The maximum number of declarations in one message: half of the contract's bound, so that it fits into half of a
/// stream's window, which the server has always replenished when it has reported the states of the last message.
pub const CHANGES: usize = 500;

/// The limit of the wait for the states of what was declared.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection with streams, each of a client of its own.
#[derive(Debug)]
pub struct Raw {
    /// The connection that carries the streams.
    pub connection: Connection,
    /// The last number. All clients of the connection share them.
    last: u64,
}

impl Raw {
    /// Opens one.
    pub async fn open(port: u16) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(port).await?, last: 0 })
    }

    /// Begins the stream of a new client. Its id is unique, and has at least 16 bytes.
    pub fn begin(&mut self, client: &str) -> u32 {
        self.hello(Hello { client_id: client.into(), epoch: 1, ..Hello::default() })
    }

    /// Connects a client, which was alone on its connection and still has all its `last` numbers, to another server.
    /// Returns when all its sessions are open, and all its locks are held. The Hello must fit into a stream's window
    /// (128 KiB): at most 40,000 numbers.
    ///
    /// # Errors
    /// If the server cannot be reached, or something has ended.
    pub async fn reconnect(port: u16, client: &str, epoch: u64, last: u64) -> anyhow::Result<Self> {
        let mut raw = Self { last, ..Self::open(port).await? };
        raw.hello(Hello { client_id: client.into(), epoch, known: (1..=last).collect(), ..Hello::default() });
        raw.wait_for((1..=last).collect()).await?;
        Ok(raw)
    }

    /// The last number that was declared.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// A declaration that opens a session.
    pub fn session(&mut self, id: &str, ttl: Duration, grace: Option<Duration>) -> anyhow::Result<Declaration> {
        let open = DeclaredSession {
            session_id: id.into(),
            ttl: Some(ttl.try_into()?),
            disconnect_grace: grace.map(TryInto::try_into).transpose()?,
            ..DeclaredSession::default()
        };
        Ok(Declaration { session: self.next(), open: Some(open), ..Declaration::default() })
    }

    /// A claim to a free lock, for the last declaration.
    pub fn claim(&mut self, name: String) -> DeclaredClaim {
        DeclaredClaim { number: self.next(), names: vec![name], ..DeclaredClaim::default() }
    }

    /// Sends declarations, as one message of at most [`CHANGES`] on each stream, and waits until all sessions are open,
    /// and all locks are held. Returns the interval in which the opened sessions are to be renewed.
    ///
    /// # Errors
    /// If a session is rejected, or a lock is not free.
    pub async fn declare(
        &mut self,
        requests: impl IntoIterator<Item = (u32, Vec<Declaration>)>,
    ) -> anyhow::Result<Duration> {
        let mut missing = HashSet::new();
        for (stream, declarations) in requests {
            for declaration in &declarations {
                missing.extend(declaration.open.iter().map(|_| declaration.session));
                missing.extend(declaration.claims.iter().map(|claim| claim.number));
            }
            let change = |declaration| Change { kind: Some(Wanted::Declare(declaration)), ..Change::default() };
            let changes = declarations.into_iter().map(change).collect();
            self.connection.output().message(stream, &encode(Request::Changes(Changes { changes })));
        }
        self.wait_for(missing).await
    }

    /// Opens this number of sessions on a stream, which hold a lock each. Returns the interval in which they are to be
    /// renewed.
    ///
    /// # Errors
    /// If a session is rejected, or a lock is not free.
    pub async fn declare_holders(
        &mut self,
        stream: u32,
        name: &str,
        count: usize,
        ttl: Duration,
    ) -> anyhow::Result<Duration> {
        let mut declarations = Vec::new();
        for number in 0..count {
            let id = format!("{name}-{number}");
            let mut declaration = self.session(&id, ttl, None)?;
            declaration.claims.push(self.claim(format!("lock-of-{id}")));
            declarations.push(declaration);
        }
        let mut every = Duration::MAX;
        for part in declarations.chunks(CHANGES) {
            every = every.min(self.declare([(stream, part.to_vec())]).await?);
        }
        Ok(every)
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn hello(&mut self, hello: Hello) -> u32 {
        let stream = self.connection.output().begin(PATH);
        self.connection.output().message(stream, &encode(Request::Hello(hello)));
        stream
    }

    /// Waits until the sessions and claims with these numbers are open and held. Returns the shortest `renew_after`.
    async fn wait_for(&mut self, mut missing: HashSet<u64>) -> anyhow::Result<Duration> {
        let mut renew_after = Duration::MAX;
        while !missing.is_empty() {
            let receive = self.connection.receive(|_, message, _| {
                for State { number, kind } in states(message)? {
                    match kind {
                        Some(Current::Open(open)) => {
                            renew_after = renew_after.min(open.renew_after.unwrap_or_default().try_into()?);
                        }
                        Some(Current::Held(_)) => {}
                        other => bail!("{number} is neither open nor held: {other:?}"),
                    }
                    missing.remove(&number);
                }
                Ok(())
            });
            tokio::time::timeout(TIMEOUT, receive).await.context("no states")??;
        }
        Ok(renew_after)
    }
}

/// Renews all sessions of a client.
pub fn keep_alive() -> Vec<u8> {
    encode(Request::KeepAlive(KeepAlive::default()))
}

/// Validates the reply to a [`keep_alive`].
///
/// # Errors
/// If it is another message: a state means that something has ended.
pub fn kept_alive(message: &[u8]) -> anyhow::Result<()> {
    match ConnectResponse::decode(message)?.kind {
        Some(Response::KeptAlive(_)) => Ok(()),
        other => bail!("not renewed: {other:?}"),
    }
}

fn encode(kind: Request) -> Vec<u8> {
    ConnectRequest { kind: Some(kind) }.encode_to_vec()
}

/// The states in a message.
fn states(message: &[u8]) -> anyhow::Result<Vec<State>> {
    match ConnectResponse::decode(message)?.kind {
        Some(Response::States(states)) => Ok(states.states),
        Some(Response::Welcome(_)) => Ok(Vec::new()),
        other => bail!("no states: {other:?}"),
    }
}
