//! All behaviours of models that are small enough for a complete check.

use tenure_model::check::check;
use tenure_model::limits::{Budget, Limits};

fn holds(limits: Limits) {
    let report = check(limits, 2);
    assert!(report.broken.is_empty(), "{report:#?}");
    assert!(report.states > 1_000, "only {} states: nothing happens in it", report.states);
}

#[test]
fn a_first_grant_with_appends_that_fail_in_every_way_and_a_failover_that_loses_commits() {
    let budget = Budget { unknowns: 2, failovers: 1, lost_batches: 2, ..Budget::default() };
    holds(Limits { budget, ..Limits::default() });
}

#[test]
fn a_first_grant_with_a_release_a_refusal_and_a_server_that_dies() {
    let budget =
        Budget { unknowns: 1, unavailables: 1, releases: 1, server_crashes: 1, restarts: 1, ..Budget::default() };
    holds(Limits { budget, ..Limits::default() });
}

#[test]
fn time_that_passes_at_any_moment() {
    holds(Limits { clients: 1, ticks: 3, begun: true, ..Limits::default() });
}

#[test]
fn moves_between_servers() {
    let budget = Budget { moves: 1, ..Budget::default() };
    holds(Limits { ticks: 2, lease: 3, begun: true, budget, ..Limits::default() });
}

#[test]
fn slow_renewals_and_heartbeats_and_appends() {
    let budget = Budget { slow: 1, unknowns: 1, ..Budget::default() };
    holds(Limits { ticks: 2, lease: 3, begun: true, budget, ..Limits::default() });
}

#[test]
fn calls_to_whatever_server() {
    let budget = Budget { unknowns: 1, ..Budget::default() };
    holds(Limits { clients: 1, ticks: 2, begun: true, calls: true, budget, ..Limits::default() });
}

#[test]
fn clocks_that_run_ahead() {
    holds(Limits { clients: 1, ticks: 2, lease: 3, drift: 1, begun: true, ..Limits::default() });
}

#[test]
fn in_the_end_the_lock_of_the_dead_goes_to_the_living_and_everybody_is_answered() {
    let budget = Budget { client_crashes: 1, server_crashes: 1, unknowns: 1, ..Budget::default() };
    holds(Limits { ticks: 6, calm: 5, prompt: true, begun: true, budget, ..Limits::default() });
}

#[test]
fn in_the_end_whoever_believes_to_hold_does_even_after_a_failover() {
    let budget = Budget { failovers: 1, lost_batches: 2, ..Budget::default() };
    holds(Limits { ticks: 5, calm: 5, prompt: true, begun: true, budget, ..Limits::default() });
}
