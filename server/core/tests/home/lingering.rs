//! Minimum holds: how long a lock that was released early is not granted again.

use tenure_core::{Command, Outcome};

use super::lab::{Lab, ME, OTHER, at, opening};

/// Releases a hold that was granted.
fn release(granted: &Outcome) -> Command {
    let Outcome::Held { claim, .. } = granted else { panic!("{granted:?}") };
    let token = claim.token().expect("held");
    Command::Release { session: claim.spec.session.clone(), name: "a".into(), token }
}

/// Asserts that the lock is free from this moment on, and not before.
fn assert_free_from(mut lab: Lab, seconds: u64) {
    lab.expire(at(seconds - 1));
    assert!(lab.table.lock("a").is_some(), "it lingers");
    lab.expire(at(seconds));
    assert!(lab.table.lock("a").is_none());
}

#[test]
fn a_minimum_hold_counts_from_the_grant() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let granted = lab.acquire("ann", at(6), at(1));
    lab.ask(release(&granted), at(2));
    assert_free_from(lab, 7);
}

#[test]
fn the_end_of_a_minimum_hold_that_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let granted = lab.acquire("ann", at(6), at(1));
    lab.ask(release(&granted), at(2));
    let due = lab.home.due(at(7));
    assert!(matches!(&*due, [Command::EndLingering { .. }]));
    lab.home.retry_at(&due[0], at(8));
    assert_free_from(lab, 8);
}

#[test]
fn a_table_that_was_loaded_anew_changes_nothing_in_what_is_counted() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let granted = lab.acquire("ann", at(6), at(1));
    lab.ask(release(&granted), at(2));
    lab.home.rebuild(&lab.table, at(4));
    assert_free_from(lab, 7);
}

#[test]
fn a_release_that_was_learnt_of_from_the_table_alone_counts_from_the_grant_too() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let granted = lab.acquire("ann", at(6), at(1));
    lab.unseen(release(&granted));
    lab.home.rebuild(&lab.table, at(4));
    assert_free_from(lab, 7);
}

#[test]
fn who_knows_nothing_of_the_grant_counts_a_minimum_hold_anew() {
    let mut lab = Lab::new();
    lab.open("ann", OTHER, at(0));
    let granted = lab.acquire("ann", at(6), at(0));
    lab.ask(release(&granted), at(1));
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(2));
    assert_free_from(lab, 8);
}

#[test]
fn a_minimum_hold_is_counted_at_one_home_only() {
    let mut lab = Lab::new();
    lab.unseen(opening("ann", at(1_000), None, OTHER));
    let granted = lab.acquire("ann", at(6), at(0));
    lab.ask(release(&granted), at(1));
    lab.home.rebuild(&lab.table, at(2));
    assert_eq!(lab.home.next_deadline(), None);
}
