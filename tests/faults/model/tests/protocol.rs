//! All behaviours of models that are small enough for a complete check.

use tenure_model::check::check;
use tenure_model::limits::{Budget, Limits};

fn holds(limits: Limits) {
    check(limits, 2).assert_holds();
}

#[test]
fn first_grant_with_failing_appends_and_a_failover_that_loses_commits() {
    let budget = Budget { unknowns: 2, failovers: 1, lost_batches: 2, ..Budget::default() };
    holds(Limits { budget, ..Limits::default() });
}

#[test]
fn first_grant_with_a_release_a_rejection_and_a_server_crash() {
    let budget =
        Budget { unknowns: 1, unavailables: 1, releases: 1, server_crashes: 1, restarts: 1, ..Budget::default() };
    holds(Limits { budget, ..Limits::default() });
}

#[test]
fn ticks_at_any_moment() {
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
fn renewal_calls_to_any_server() {
    let budget = Budget { unknowns: 1, ..Budget::default() };
    holds(Limits { clients: 1, ticks: 2, begun: true, calls: true, budget, ..Limits::default() });
}

#[test]
fn clocks_that_run_ahead() {
    holds(Limits { clients: 1, ticks: 2, lease: 3, drift: 1, begun: true, ..Limits::default() });
}

#[test]
fn lock_of_a_dead_client_passes_to_a_living_one_and_every_request_is_answered() {
    let budget = Budget { client_crashes: 1, server_crashes: 1, unknowns: 1, ..Budget::default() };
    holds(Limits { ticks: 6, calm: 5, prompt: true, begun: true, budget, ..Limits::default() });
}

#[test]
fn valid_holders_hold_the_lock_after_a_failover() {
    let budget = Budget { failovers: 1, lost_batches: 2, ..Budget::default() };
    holds(Limits { ticks: 5, calm: 5, prompt: true, begun: true, budget, ..Limits::default() });
}
