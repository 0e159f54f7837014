//! A table and the home of its sessions, with time passed in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Command, EndReason, Event, Home, Opening, Origin, Outcome, Recorded, Request, Revision, ServerId, StreamId, Table,
    Text, Tick,
};

pub const ME: ServerId = ServerId(1);
pub const OTHER: ServerId = ServerId(2);
pub const TTL: Duration = Duration::from_secs(10);
pub const GRACE: Duration = Duration::from_secs(2);
pub const STREAM: StreamId = StreamId(1);
pub const OTHER_STREAM: StreamId = StreamId(2);

pub const fn at(seconds: u64) -> Tick {
    Duration::from_secs(seconds)
}

pub fn opening(session: &str, ttl: Duration, grace: Option<Duration>, home: ServerId) -> Command {
    let (owner, metadata) = (Text::from(""), Arc::new(BTreeMap::new()));
    let opening = Opening { ttl, disconnect_grace: grace, owner, metadata, identity: None };
    Command::OpenSession { session: session.into(), opening, home, attachment: 0, client: None }
}

pub struct Lab {
    pub table: Table,
    pub home: Home,
}

impl Lab {
    pub fn new() -> Self {
        Self { table: Table::default(), home: Home::new(ME, Duration::from_secs(5)) }
    }

    pub fn ask(&mut self, request: impl Into<Request>, now: Tick) -> Outcome {
        let mut events: Vec<Recorded> = Vec::new();
        let outcome = self.table.decide(request, &mut events).expect("allowed");
        self.table.commit();
        for recorded in &events {
            self.home.observe(recorded, &self.table, now);
        }
        outcome
    }

    /// Executes a request that the home learns of only when it rebuilds from the whole table.
    pub fn unseen(&mut self, request: impl Into<Request>) {
        self.table.decide(request, &mut Vec::new()).expect("allowed");
        self.table.commit();
    }

    /// Simulates a database that has lost history.
    pub fn lose(&mut self, now: Tick) {
        let after = self.table.revision();
        let lost = Recorded { revision: Revision(after.0 + 1_000), event: Event::HistoryLost { after } };
        self.table.apply(&lost);
        self.home.observe(&lost, &self.table, now);
    }

    pub fn open(&mut self, session: &str, home: ServerId, now: Tick) {
        self.open_with(session, TTL, None, home, now);
    }

    pub fn open_with(&mut self, session: &str, ttl: Duration, grace: Option<Duration>, home: ServerId, now: Tick) {
        self.ask(opening(session, ttl, grace, home), now);
    }

    /// Opens a session with a disconnect grace, attached to a stream.
    pub fn open_on(&mut self, session: &str, stream: StreamId, now: Tick) {
        self.open_with(session, TTL, Some(GRACE), ME, now);
        assert_eq!(self.home.attach(&session.into(), stream, now), Ok(None));
    }

    pub fn acquire(&mut self, session: &str, min_hold: Duration, now: Tick) -> Outcome {
        let command = Command::Acquire {
            origin: Origin::default(),
            opened: None,
            session: session.into(),
            opening: None,
            home: self.table.session(session).expect("open").spec.home,
            names: vec!["a".into()].into(),
            mode: tenure_core::AskedMode::Exclusive,
            queue: true,
            priority: 0,
            metadata: Arc::new(BTreeMap::new()),
            min_hold,
        };
        self.ask(command, now)
    }

    /// Ends the sessions whose end is due, and returns them with the reasons.
    pub fn end(&mut self, now: Tick) -> Vec<(String, EndReason)> {
        let due = self.home.due(now);
        let mut ended = Vec::new();
        for command in due {
            if let Command::EndSession { session, reason, .. } = &command {
                ended.push((session.to_string(), *reason));
            }
            self.ask(command, now);
        }
        ended
    }

    /// Ends the sessions whose TTL has passed, and returns them.
    pub fn expire(&mut self, now: Tick) -> Vec<String> {
        let ended = self.end(now);
        assert!(ended.iter().all(|(_, reason)| *reason == EndReason::Expired), "{ended:?}");
        ended.into_iter().map(|(session, _)| session).collect()
    }
}
