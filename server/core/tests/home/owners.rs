//! Owners of sessions, as their home knows them.

use tenure_core::testing::{self, Build, HOME, Lab, adopt, close, move_to};
use tenure_core::{Limits, Request, ServerId, Text};

use super::OTHER;

fn open(identity: &str, home: ServerId) -> Request {
    testing::open("s").at(home).by(Some(&identity.into()), Limits::default())
}

/// Whether the session is attributed to ann, and to no other identity.
fn is_anns(lab: &Lab) -> bool {
    let is_of_another = |identity: &str| lab.home.is_of_another("s", &Text::from(identity));
    !is_of_another("ann") && is_of_another("bob")
}

#[test]
fn home_knows_the_owner_of_a_session_however_it_came() {
    let mut lab = Lab::default();
    lab.accept(open("ann", HOME));
    assert!(is_anns(&lab), "opened here");

    let mut lab = Lab::default();
    lab.accept(open("ann", OTHER));
    lab.at(1).accept(move_to("s", HOME));
    assert!(is_anns(&lab), "from another home");

    let mut lab = Lab::default();
    lab.accept(open("ann", OTHER));
    lab.at(1).accept(adopt(OTHER, HOME));
    assert!(is_anns(&lab), "from a server that is dead");
}

#[test]
fn home_knows_the_owner_of_a_session_whose_id_was_reused() {
    let mut lab = Lab::default();
    lab.accept(open("bob", HOME));
    lab.accept_unobserved(close("s"));
    lab.accept_unobserved(open("ann", OTHER));
    lab.at(1).accept(move_to("s", HOME));
    assert!(is_anns(&lab));
}
