//! Sessions belong to the identity that opened them, if identities are authenticated.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, Basis, Command, GroupCommand, Handoff, Limits, Opening, Origin, Outcome, Recorded, Rejection, Revision,
    ServerId, Table, Text,
};

const HOME: ServerId = ServerId(1);
const SESSION: &str = "host-1";

#[derive(Default)]
struct Lab {
    table: Table,
    events: Vec<Recorded>,
}

impl Lab {
    fn ask(&mut self, identity: Option<&str>, command: Command) -> Result<Outcome, Rejection> {
        let identity = identity.map(Text::from);
        let outcome = self.table.decide(command.by(identity.as_ref(), Limits::NONE), &mut self.events);
        self.table.commit();
        outcome
    }
}

fn opening() -> Opening {
    let (owner, metadata) = (Text::from(""), Arc::default());
    Opening { ttl: Duration::from_secs(9), disconnect_grace: None, owner, metadata, identity: None }
}

fn open() -> Command {
    Command::OpenSession { session: SESSION.into(), opening: opening(), home: HOME, attachment: 0, client: None }
}

fn acquire(opening: Option<Opening>) -> Command {
    Command::Acquire {
        session: SESSION.into(),
        opening,
        home: HOME,
        origin: Origin::default(),
        opened: None,
        names: Text::from("a").into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::default(),
        min_hold: Duration::ZERO,
    }
}

fn join(opening: Option<Opening>) -> Command {
    let (group, session, metadata) = ("g".into(), SESSION.into(), Arc::default());
    Command::Group(GroupCommand::Join { group, session, opening, home: HOME, attached: None, opened: None, metadata })
}

/// All commands that a session can issue.
fn all(token: Revision) -> Vec<Command> {
    let (session, name, group) = (Text::from(SESSION), Text::from("a"), Text::from("g"));
    let basis = Basis { membership: Revision(0), config: Revision(0) };
    vec![
        open(),
        Command::AttachSession { session: session.clone(), home: ServerId(2), attachment: 0, client: None },
        Command::CloseSession { session: session.clone(), client: None },
        acquire(None),
        acquire(Some(opening())),
        Command::CancelAcquire { session: session.clone(), attached: None, names: name.clone().into() },
        Command::Release { session: session.clone(), name: name.clone(), token },
        Command::UpdateClaim { session: session.clone(), name: name.clone(), token, metadata: Arc::default() },
        Command::Transfer { name, token: Some(token), to: None, by: Handoff::ByHolder { session: session.clone() } },
        join(None),
        join(Some(opening())),
        Command::Group(GroupCommand::Assign {
            group: group.clone(),
            session: session.clone(),
            token,
            basis,
            assignments: Arc::default(),
        }),
        Command::Group(GroupCommand::Leave { group, session, member: None }),
    ]
}

#[test]
fn nobody_uses_the_session_of_somebody_else() {
    for opens in [open(), acquire(Some(opening())), join(Some(opening()))] {
        let mut lab = Lab::default();
        lab.ask(Some("token:ann"), opens).expect("it is new");
        let Ok(Outcome::Held { claim, .. }) = lab.ask(Some("token:ann"), acquire(None)) else { panic!("it is free") };
        lab.ask(Some("token:ann"), join(None)).expect("there is room");
        let before = lab.events.len();
        for command in all(claim.token().expect("held")) {
            let refused = lab.ask(Some("token:bob"), command.clone());
            assert_eq!(refused, Err(Rejection::SessionOfAnother { session: SESSION.into() }), "{command:?}");
        }
        assert_eq!(lab.events.len(), before, "nothing has changed");
        lab.ask(Some("token:ann"), Command::CloseSession { session: SESSION.into(), client: None })
            .expect("it is hers");
        lab.ask(Some("token:bob"), open()).expect("the id is free again");
        let refused = lab.ask(Some("token:ann"), open());
        assert_eq!(refused, Err(Rejection::SessionOfAnother { session: SESSION.into() }));
    }
}

#[test]
fn who_has_to_prove_nothing_is_not_asked() {
    let mut lab = Lab::default();
    lab.ask(Some("token:ann"), open()).expect("it is new");
    lab.ask(None, acquire(None)).expect("the server asks nobody");
    let mut lab = Lab::default();
    lab.ask(None, open()).expect("it is new");
    lab.ask(Some("token:ann"), acquire(None)).expect("nobody had to prove anything when it was opened");
    assert_eq!(lab.table.session(SESSION).expect("open").spec.identity, None);
}

#[test]
fn what_operators_and_homes_ask_for_is_about_nobodys_session() {
    let mut lab = Lab::default();
    lab.ask(Some("token:ann"), open()).expect("it is new");
    let Ok(Outcome::Held { claim, .. }) = lab.ask(Some("token:ann"), acquire(None)) else { panic!("it is free") };
    let by = tenure_core::Eviction { operator: "bob".into(), note: "".into() };
    let evict = Command::Evict { name: "a".into(), token: claim.token(), eviction: by };
    assert!(matches!(lab.ask(Some("token:bob"), evict), Ok(Outcome::Evicted(evicted)) if evicted.len() == 1));
}
