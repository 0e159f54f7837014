//! A table for group commands.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Command, Group, GroupCommand, GroupOutcome, Metadata, Opening, Outcome, Recorded, Rejection, Revision, ServerId,
    Table, Text,
};

pub const HOME: ServerId = ServerId(1);

pub fn no_labels() -> Metadata {
    Arc::default()
}

pub fn opening() -> Opening {
    Opening {
        ttl: Duration::from_secs(9),
        disconnect_grace: None,
        owner: "owner".into(),
        metadata: no_labels(),
        identity: None,
    }
}

pub fn join(group: &str, session: &str, opening: Option<Opening>, metadata: Metadata) -> GroupCommand {
    GroupCommand::Join {
        group: group.into(),
        session: session.into(),
        opening,
        home: HOME,
        attached: None,
        opened: None,
        metadata,
    }
}

/// A table whose decisions are committed at once.
#[derive(Default)]
pub struct Lab {
    pub table: Table,
    pub events: Vec<Recorded>,
}

impl Lab {
    pub fn ask(&mut self, command: GroupCommand) -> Result<GroupOutcome, Rejection> {
        let outcome = self.table.decide(Command::Group(command), &mut self.events);
        self.table.commit();
        match outcome {
            Ok(Outcome::Group(outcome)) => Ok(outcome),
            Ok(other) => panic!("not about a group: {other:?}"),
            Err(rejection) => Err(rejection),
        }
    }

    pub fn join(&mut self, group: &str, session: &str) -> Revision {
        match self.ask(join(group, session, Some(opening()), no_labels())) {
            Ok(GroupOutcome::Joined { member, .. }) => member,
            other => panic!("{session} should have joined: {other:?}"),
        }
    }

    pub fn group(&self) -> Arc<Group> {
        self.table.group("g").expect("it is there").clone()
    }

    pub fn assign(&mut self, session: &str, token: Revision, value: &str) -> Result<GroupOutcome, Rejection> {
        let group = self.group();
        let assignments = Arc::new(group.members.keys().map(|number| (*number, Text::from(value))).collect());
        self.ask(GroupCommand::Assign {
            group: "g".into(),
            session: session.into(),
            token,
            basis: group.basis(),
            assignments,
        })
    }

    pub fn close(&mut self, session: &str) {
        let closed =
            self.table.decide(Command::CloseSession { session: session.into(), client: None }, &mut self.events);
        assert_eq!(closed, Ok(Outcome::Done));
        self.table.commit();
    }
}
