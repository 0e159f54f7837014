//! Minimum holds: how long a lock that was released early is not granted again.

use tenure_core::testing::{self, Build, HOME, Lab, adopt, at, open};
use tenure_core::{Claim, Command};

use super::{OTHER, acquire};

/// Releases a hold that was granted.
fn release(granted: &Claim) -> Command {
    testing::release(granted.spec.session.clone(), "a", granted.token().expect("held"))
}

/// Asserts that the lock is free from this moment on, and not before.
fn assert_free_from(mut lab: Lab, seconds: u64) {
    lab.at(seconds - 1).expire();
    assert!(lab.table.lock("a").is_some(), "it lingers");
    lab.at(seconds).expire();
    assert!(lab.table.lock("a").is_none());
}

#[test]
fn minimum_hold_counts_from_the_grant() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    let granted = lab.at(1).grant(acquire("ann").min_hold(at(6)));
    lab.at(2).accept(release(&granted));
    assert_free_from(lab, 7);
}

#[test]
fn end_of_a_minimum_hold_that_could_not_be_written_stays_due() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    let granted = lab.at(1).grant(acquire("ann").min_hold(at(6)));
    lab.at(2).accept(release(&granted));
    let due = lab.home.due(at(7));
    assert!(matches!(&*due, [Command::EndLingering { .. }]));
    lab.home.retry_at(&due[0], at(8));
    assert_free_from(lab, 8);
}

#[test]
fn minimum_hold_counts_on_after_a_rebuild() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    let granted = lab.at(1).grant(acquire("ann").min_hold(at(6)));
    lab.at(2).accept(release(&granted));
    lab.home.rebuild(&lab.table, at(4));
    assert_free_from(lab, 7);
}

#[test]
fn minimum_hold_counts_from_the_grant_after_an_unobserved_release() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    let granted = lab.at(1).grant(acquire("ann").min_hold(at(6)));
    lab.accept_unobserved(release(&granted));
    lab.home.rebuild(&lab.table, at(4));
    assert_free_from(lab, 7);
}

#[test]
fn minimum_hold_counts_anew_at_a_home_that_has_not_observed_the_grant() {
    let mut lab = Lab::default();
    lab.accept(open("ann").at(OTHER));
    let granted = lab.grant(acquire("ann").at(OTHER).min_hold(at(6)));
    lab.at(1).accept(release(&granted));
    lab.at(2).accept(adopt(OTHER, HOME));
    assert_free_from(lab, 8);
}

#[test]
fn minimum_hold_is_counted_at_one_home_only() {
    let mut lab = Lab::default();
    lab.accept_unobserved(open("ann").ttl(at(1_000)).at(OTHER));
    let granted = lab.grant(acquire("ann").at(OTHER).min_hold(at(6)));
    lab.at(1).accept(release(&granted));
    lab.home.rebuild(&lab.table, at(2));
    assert_eq!(lab.home.next_deadline(), None);
}
