//! The declared stream: all behaviours within bounds, and the detection of each flaw.

use tenure_model::check::check;
use tenure_model::declared::{AGREED, Budget, ENDED, Flaw, Limits, NO_REVIVAL};

fn holds(budget: Budget) {
    check(Limits { servers: 2, budget, flaw: None }, 2).assert_holds();
}

#[test]
fn changes_of_three_streams_that_arrive_late() {
    holds(Budget { declares: 2, withdraws: 1, connects: 3, ..Budget::default() });
}

#[test]
fn ends_at_any_moment() {
    holds(Budget { declares: 2, withdraws: 1, connects: 2, ends: 1, ..Budget::default() });
}

#[test]
fn lost_history_at_any_moment() {
    holds(Budget { declares: 2, withdraws: 1, connects: 2, losses: 1, ..Budget::default() });
}

#[test]
fn everything_for_one_number() {
    holds(Budget { declares: 1, withdraws: 1, connects: 3, ends: 1, losses: 1 });
}

#[test]
fn every_flaw_is_found() {
    for flaw in Flaw::ALL {
        let budget = Budget { declares: 2, withdraws: 1, connects: 3, ends: 1, losses: 0 };
        let expected: &[&str] = match flaw {
            Flaw::LateHello | Flaw::LateChange => &[AGREED, ENDED, NO_REVIVAL],
            Flaw::NumberReused | Flaw::HelloRevives => &[NO_REVIVAL],
            Flaw::HelloKeepsUnstated => &[ENDED, AGREED],
            Flaw::HelloDropsDeclared | Flaw::HelloDropsKnown | Flaw::WithdrawalForgotten => &[AGREED],
            Flaw::WithdrawnUnconfirmed => &[ENDED],
        };
        // One thread: with several, the broken property that is found first would depend on timing.
        check(Limits { servers: 2, budget, flaw: Some(flaw) }, 1).assert_found(flaw, expected);
    }
}
