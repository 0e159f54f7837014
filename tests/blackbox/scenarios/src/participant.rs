//! A client in a scenario: its driver, and the network between it and each server.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::channel::Answered;
use crate::clients::ClientSpec;
use crate::driver::Driver;
use crate::drivers::Drivers;
use crate::matcher::Stored;
use crate::relay::Relay;
use crate::step::{Cut, Scope};

/// The time limit of a driver's start and of its connection to a server, which is slow in some languages.
pub(crate) const START: Duration = Duration::from_secs(60);

/// The time limit of closing a client at the end of a scenario.
const CLOSE: Duration = Duration::from_secs(5);

/// The fields that name objects of the driver.
const NAMES: [&str; 7] = ["client", "session", "guard", "watch", "election", "member", "run"];

/// A client in a scenario.
#[derive(Debug)]
pub(crate) struct Participant {
    pub(crate) driver: Driver,
    /// One per server, in their order.
    relays: Vec<Relay>,
    /// Accepts connections and never replies.
    _hanging: TcpListener,
    /// Values that only this client's requests can name.
    pub(crate) own: Stored,
    /// The clients that its driver has made.
    connected: BTreeSet<String>,
}

impl Participant {
    /// Starts a client. Its list of servers begins with number `turn`, so that not all clients connect to the same one.
    pub(crate) async fn start(
        spec: &ClientSpec,
        ports: &[u16],
        turn: usize,
        drivers: &Drivers,
    ) -> anyhow::Result<Self> {
        let mut relays = Vec::new();
        for port in ports {
            relays.push(Relay::start(*port).await?);
        }
        let mut urls: Vec<String> = relays.iter().map(Relay::url).collect();
        let mut own = Stored::new();
        for (index, url) in urls.iter().enumerate() {
            own.insert(format!("endpoint_{}", index + 1), json!(url));
            own.insert(format!("address_{}", index + 1), json!(url.trim_start_matches("http://")));
        }
        urls.rotate_left(turn % ports.len().max(1));
        own.insert("endpoints".to_owned(), json!(urls));
        let hanging = TcpListener::bind(("127.0.0.1", 0)).await?;
        own.insert("hanging".to_owned(), json!(format!("http://{}", hanging.local_addr()?)));
        own.insert("dead".to_owned(), json!(format!("http://127.0.0.1:{}", tenure_harness::free_port()?)));
        let driver = drivers.take(spec).await?;
        Ok(Self { driver, relays, _hanging: hanging, own, connected: BTreeSet::new() })
    }

    /// Sends a request to the driver. Its names are distinct from those of earlier scenarios.
    pub(crate) async fn ask(
        &mut self,
        request: &str,
        fields: &Map<String, Value>,
    ) -> anyhow::Result<(u64, oneshot::Receiver<Answered>)> {
        let mut fields = fields.clone();
        for (field, value) in &mut fields {
            if let (true, Value::String(name)) = (NAMES.contains(&&**field), value) {
                name.push_str(&self.driver.suffix());
            }
        }
        if let ("connect", Some(Value::String(client))) = (request, fields.get("client")) {
            self.connected.insert(client.clone());
        }
        self.driver.channel.ask(request, &fields).await
    }

    /// Closes the clients of its driver, and keeps it for other scenarios, unless a fault was injected into it or it
    /// does not reply.
    ///
    /// # Errors
    /// If it has printed an invalid reply.
    pub(crate) async fn finish(mut self, spec: &ClientSpec, drivers: &Drivers) -> anyhow::Result<()> {
        if self.driver.had_fault {
            return Ok(());
        }
        self.heal();
        for client in std::mem::take(&mut self.connected) {
            let fields = Map::from_iter([("client".to_owned(), json!(client))]);
            let Ok((_, answer)) = self.driver.channel.ask("close", &fields).await else { return Ok(()) };
            if !matches!(timeout(CLOSE, answer).await, Ok(Ok(_))) {
                return Ok(());
            }
        }
        if let Some(line) = self.driver.channel.invalid_output() {
            bail!("it printed an invalid reply while it closed: {line}");
        }
        self.driver.channel.clear_log();
        self.driver.runs += 1;
        drivers.put(spec, self.driver);
        Ok(())
    }

    pub(crate) fn cut(&self, how: Cut, scope: Scope) -> anyhow::Result<()> {
        let only = if scope == Scope::Current { Some(self.server()?) } else { None };
        let relays = self.relays.iter().enumerate().filter(|(server, _)| only.is_none_or(|only| only == *server));
        relays.for_each(|(_, relay)| relay.cut(how));
        Ok(())
    }

    pub(crate) fn heal(&self) {
        self.relays.iter().for_each(Relay::heal);
    }

    /// The server that it is connected to, from 0: the one with the latest traffic.
    pub(crate) fn server(&self) -> anyhow::Result<usize> {
        let active = self.relays.iter().enumerate().filter_map(|(server, relay)| Some((relay.last_traffic()?, server)));
        active.max().map(|(_, server)| server).context("it is connected to no server")
    }
}
