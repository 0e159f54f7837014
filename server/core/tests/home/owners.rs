//! Owners of sessions, as their home knows them.

use tenure_core::{Command, Limits, Request, Text};

use crate::home::lab::{Lab, ME, OTHER, TTL, at, opening};

fn open(identity: &str, home: tenure_core::ServerId) -> Request {
    opening("s", TTL, None, home).by(Some(&identity.into()), Limits::NONE)
}

fn attach() -> Command {
    Command::AttachSession { session: "s".into(), home: ME, attachment: 0, client: None }
}

/// Whether the session is attributed to ann, and to no other identity.
fn is_anns(lab: &Lab) -> bool {
    let is_of_another = |identity: &str| lab.home.is_of_another("s", &Text::from(identity));
    !is_of_another("ann") && is_of_another("bob")
}

#[test]
fn the_home_knows_whose_a_session_is_however_it_came() {
    let mut lab = Lab::new();
    lab.ask(open("ann", ME), at(0));
    assert!(is_anns(&lab), "opened here");

    let mut lab = Lab::new();
    lab.ask(open("ann", OTHER), at(0));
    lab.ask(attach(), at(1));
    assert!(is_anns(&lab), "from another home");

    let mut lab = Lab::new();
    lab.ask(open("ann", OTHER), at(0));
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(1));
    assert!(is_anns(&lab), "from a server that is dead");
}

#[test]
fn an_id_that_somebody_else_uses_now_is_not_taken_for_what_it_was() {
    let mut lab = Lab::new();
    lab.ask(open("bob", ME), at(0));
    lab.unseen(Command::CloseSession { session: "s".into(), client: None });
    lab.unseen(open("ann", OTHER));
    lab.ask(attach(), at(1));
    assert!(is_anns(&lab));
}
