//! A table and the home of its sessions, with time passed in, for handoffs of the lock "a".

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, ClaimState, Command, Eviction, Handoff, Home, LockSettings, Opening, Origin, Outcome, Preempt, Recorded,
    Rejection, Revision, ServerId, Table, Text, Tick,
};

pub const ME: ServerId = ServerId(1);

pub const fn at(seconds: u64) -> Tick {
    Duration::from_secs(seconds)
}

pub struct Lab {
    pub table: Table,
    pub home: Home,
    pub events: Vec<Recorded>,
}

impl Lab {
    pub fn new() -> Self {
        Self { table: Table::default(), home: Home::new(ME, at(5)), events: Vec::new() }
    }

    pub fn try_ask(&mut self, command: Command, now: Tick) -> Result<Outcome, Rejection> {
        let mut events = Vec::new();
        let outcome = self.table.decide(command, &mut events);
        self.table.commit();
        for recorded in &events {
            self.home.observe(recorded, &self.table, now);
        }
        self.events.extend(events);
        outcome
    }

    pub fn ask(&mut self, command: Command, now: Tick) -> Outcome {
        self.try_ask(command, now).expect("allowed")
    }

    /// Executes a command that the home learns of only when it rebuilds from the whole table.
    pub fn unseen(&mut self, command: Command) {
        self.table.decide(command, &mut Vec::new()).expect("allowed");
        self.table.commit();
    }

    pub fn acquire(&mut self, session: &str, priority: i32, now: Tick) -> Revision {
        self.acquire_as(session, &["a"], AskedMode::Exclusive, priority, Duration::ZERO, now)
    }

    pub fn acquire_as(
        &mut self,
        session: &str,
        names: &[&str],
        mode: AskedMode,
        priority: i32,
        min_hold: Duration,
        now: Tick,
    ) -> Revision {
        let opening = Opening {
            ttl: at(1_000),
            disconnect_grace: None,
            owner: Text::from(""),
            metadata: Arc::default(),
            identity: None,
        };
        let command = Command::Acquire {
            origin: Origin::default(),
            opened: None,
            session: session.into(),
            opening: Some(opening),
            home: ME,
            names: names.iter().map(|name| Text::from(*name)).collect(),
            mode,
            queue: true,
            priority,
            metadata: Arc::new(BTreeMap::new()),
            min_hold,
        };
        match self.ask(command, now) {
            Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. } => claim.id,
            other => panic!("{other:?}"),
        }
    }

    pub fn allow_preemption(&mut self, settling: Duration, now: Tick) {
        let settings = LockSettings { limit: None, preempt: Some(Preempt { settling, drain: at(3) }) };
        self.ask(Command::ConfigureLock { name: "a".into(), settings, by: operator() }, now);
    }

    pub fn transfer(&mut self, to: Option<&str>, by: Handoff, now: Tick) -> Result<Outcome, Rejection> {
        let token = self.holder().1;
        let to = to.map(Text::from);
        self.try_ask(Command::Transfer { name: "a".into(), token: Some(token), to, by }, now)
    }

    /// An operator's transfer to the best waiter, without a named successor.
    pub fn wish(&self) -> Command {
        Command::Transfer { name: "a".into(), token: Some(self.holder().1), to: None, by: by_operator() }
    }

    pub fn release(&mut self, now: Tick) {
        let (session, token) = self.holder();
        self.ask(Command::Release { session: session.as_str().into(), name: "a".into(), token }, now);
    }

    /// Executes the commands that are due.
    pub fn pass(&mut self, now: Tick) {
        for command in self.home.due(now) {
            self.ask(command, now);
        }
    }

    pub fn holder(&self) -> (String, Revision) {
        let held = self.table.claims().find(|claim| matches!(claim.state, ClaimState::Held { .. })).expect("held");
        (held.spec.session.to_string(), held.token().expect("held"))
    }

    /// The sessions that were asked to hand over.
    pub fn asked(&self) -> Vec<&str> {
        let pending = self.table.claims().filter(|claim| claim.transfer.is_some());
        pending.map(|claim| &*claim.spec.session).collect()
    }
}

pub fn operator() -> Eviction {
    Eviction { operator: "op".into(), note: "".into() }
}

pub fn by_operator() -> Handoff {
    Handoff::ByOperator { by: operator(), drain: at(3) }
}
