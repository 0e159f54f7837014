//! Servers that are the home of something, and the effects of their death.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{AskedMode, Command, Event, Opening, Origin, Outcome, Recorded, Revision, ServerId, Table, Text};

const FIRST: ServerId = ServerId(1);
const SECOND: ServerId = ServerId(2);
const THIRD: ServerId = ServerId(3);

/// A table whose decisions are committed at once.
#[derive(Default)]
struct Lab {
    table: Table,
    events: Vec<Recorded>,
}

impl Lab {
    fn ask(&mut self, command: Command) -> Outcome {
        let outcome = self.table.decide(command, &mut self.events).expect("allowed");
        self.table.commit();
        outcome
    }

    fn acquire(&mut self, session: &str, name: &str, home: ServerId, min_hold: Duration) -> Revision {
        let (owner, metadata) = (Text::from(""), Arc::default());
        let opening = Opening { ttl: Duration::from_secs(9), disconnect_grace: None, owner, metadata, identity: None };
        let outcome = self.ask(Command::Acquire {
            origin: Origin::default(),
            opened: None,
            session: session.into(),
            opening: Some(opening),
            home,
            names: Text::from(name).into(),
            mode: AskedMode::Exclusive,
            queue: false,
            priority: 0,
            metadata: Arc::default(),
            min_hold,
        });
        let Outcome::Held { claim, .. } = outcome else { panic!("{outcome:?}") };
        claim.id
    }

    fn close(&mut self, session: &str) {
        self.ask(Command::CloseSession { session: session.into(), client: None });
    }

    fn homes(&self) -> Vec<ServerId> {
        self.table.homes().map(|(server, _)| server).collect()
    }
}

#[test]
fn a_server_is_a_home_until_the_last_that_has_it_is_gone() {
    let mut lab = Lab::default();
    assert_eq!(lab.homes(), []);
    lab.acquire("ann", "a", FIRST, Duration::ZERO);
    lab.acquire("bob", "b", FIRST, Duration::ZERO);
    lab.acquire("cid", "c", FIRST, Duration::ZERO);
    assert_eq!(lab.homes(), [FIRST]);
    lab.ask(Command::AttachSession { session: "ann".into(), home: SECOND, attachment: 0, client: None });
    assert_eq!(lab.homes(), [FIRST, SECOND]);
    lab.close("bob");
    assert_eq!(lab.homes(), [FIRST, SECOND], "cid is there");
    lab.close("cid");
    assert_eq!(lab.homes(), [SECOND]);
    lab.close("ann");
    assert_eq!(lab.homes(), []);
}

#[test]
fn a_server_is_a_home_as_long_as_a_minimum_hold_is_counted_there() {
    let mut lab = Lab::default();
    let claim = lab.acquire("ann", "a", FIRST, Duration::from_secs(5));
    lab.close("ann");
    assert_eq!(lab.homes(), [FIRST]);
    lab.ask(Command::Adopt { dead: FIRST, by: SECOND });
    assert_eq!(lab.homes(), [SECOND]);
    lab.ask(Command::EndLingering { claim, home: SECOND });
    assert_eq!(lab.homes(), []);
}

#[test]
fn nothing_is_adopted_of_a_server_that_has_nothing_nor_by_itself() {
    let mut lab = Lab::default();
    lab.acquire("ann", "a", FIRST, Duration::ZERO);
    let before = lab.events.len();
    lab.ask(Command::Adopt { dead: SECOND, by: THIRD });
    lab.ask(Command::Adopt { dead: FIRST, by: FIRST });
    assert_eq!(lab.events.len(), before);
    lab.ask(Command::Adopt { dead: FIRST, by: SECOND });
    let adopted = Event::ServerAdopted { dead: FIRST, by: SECOND };
    assert_eq!(lab.events.last().map(|recorded| &recorded.event), Some(&adopted));
    assert_eq!(lab.homes(), [SECOND]);
}
