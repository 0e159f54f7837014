//! Servers that are the home of something, and the effects of their death.

use tenure_core::testing::{Build, Lab, acquire, adopt, at, move_to};
use tenure_core::{Command, Event, ServerId};

const FIRST: ServerId = ServerId(1);
const SECOND: ServerId = ServerId(2);
const THIRD: ServerId = ServerId(3);

fn homes(lab: &Lab) -> Vec<ServerId> {
    lab.table.homes().map(|(server, _)| server).collect()
}

#[test]
fn server_is_a_home_until_its_last_session_has_ended_or_moved() {
    let mut lab = Lab::default();
    assert_eq!(homes(&lab), []);
    lab.hold("ann", "a");
    lab.hold("bob", "b");
    lab.hold("cid", "c");
    assert_eq!(homes(&lab), [FIRST]);
    lab.accept(move_to("ann", SECOND));
    assert_eq!(homes(&lab), [FIRST, SECOND]);
    lab.close("bob");
    assert_eq!(homes(&lab), [FIRST, SECOND], "cid is there");
    lab.close("cid");
    assert_eq!(homes(&lab), [SECOND]);
    lab.close("ann");
    assert_eq!(homes(&lab), []);
}

#[test]
fn server_is_a_home_while_it_counts_a_minimum_hold() {
    let mut lab = Lab::default();
    let claim = lab.grant(acquire("ann", "a").min_hold(at(5))).id;
    lab.close("ann");
    assert_eq!(homes(&lab), [FIRST]);
    lab.accept(adopt(FIRST, SECOND));
    assert_eq!(homes(&lab), [SECOND]);
    lab.accept(Command::EndLingering { claim, home: SECOND });
    assert_eq!(homes(&lab), []);
}

#[test]
fn adopt_has_no_effect_for_a_server_that_has_nothing_or_by_itself() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    lab.accept_without_effect(adopt(SECOND, THIRD));
    lab.accept_without_effect(adopt(FIRST, FIRST));
    lab.accept(adopt(FIRST, SECOND));
    assert_eq!(*lab.last(), Event::ServerAdopted { dead: FIRST, by: SECOND });
    assert_eq!(homes(&lab), [SECOND]);
}
