//! Detection of flaws: each flaw breaks a property in a small model that holds without it.

use tenure_model::check::check;
use tenure_model::flaw::Flaw;
use tenure_model::limits::{Budget, Limits};
use tenure_model::properties::{
    ANSWERED, IN_LOG, NO_EARLY_END, NO_REVIVAL, ONE_HOLDER, PASSED_ON, REJECTED_IS_NOT_IN_LOG, REJECTED_IS_NOT_MADE,
    TOKENS_RISE,
};

/// The model in which a flaw shows, and the properties that it may break there.
fn model_for(flaw: Flaw) -> (Limits, &'static [&'static str]) {
    let fresh = Limits::default();
    let begun = Limits { begun: true, ..Limits::default() };
    let alone = Limits { clients: 1, ticks: 4, ..begun };
    let prompt = Limits { prompt: true, ticks: 5, calm: 4, ..begun };
    let unknown = Limits { budget: Budget { unknowns: 1, ..Budget::default() }, ..fresh };
    let slow = Limits { ticks: 3, budget: Budget { slow: 1, ..Budget::default() }, ..begun };
    let lossy = Budget { failovers: 1, lost_batches: 2, ..Budget::default() };
    match flaw {
        Flaw::PublishedEarly => {
            (Limits { budget: Budget { unavailables: 1, ..Budget::default() }, ..fresh }, &[IN_LOG, ONE_HOLDER])
        }
        Flaw::UnknownIsRejected => (unknown, &[REJECTED_IS_NOT_MADE, REJECTED_IS_NOT_IN_LOG]),
        Flaw::UnknownIsCommitted => (unknown, &[IN_LOG, ONE_HOLDER]),
        Flaw::UnknownIsForgotten => (Limits { prompt: true, ticks: 5, calm: 5, ..unknown }, &[ANSWERED]),
        Flaw::ConflictIsCommitted => (fresh, &[IN_LOG, ONE_HOLDER]),
        Flaw::AppendWithoutCondition => (fresh, &[TOKENS_RISE, ONE_HOLDER]),
        Flaw::EndWhereverItsHome => {
            (Limits { ticks: 2, budget: Budget { moves: 1, ..Budget::default() }, ..begun }, &[NO_EARLY_END])
        }
        Flaw::NoFreshTtl => {
            let budget = Budget { server_crashes: 1, ..Budget::default() };
            (Limits { ticks: 3, ttl: 3, budget, ..begun }, &[NO_EARLY_END, ONE_HOLDER])
        }
        Flaw::NoAdoption => {
            let budget = Budget { server_crashes: 1, client_crashes: 1, ..Budget::default() };
            (Limits { ticks: 7, calm: 6, budget, ..prompt }, &[PASSED_ON])
        }
        Flaw::LeaseIgnored | Flaw::DeadWithoutCondition | Flaw::DeadHeartbeatsOn => (alone, &[NO_EARLY_END]),
        Flaw::MarkedDeadEarly => (Limits { ticks: 3, lease: 3, ..alone }, &[NO_EARLY_END]),
        Flaw::AgesWithoutLease => (Limits { ticks: 3, lease: 1, ..alone }, &[NO_EARLY_END]),
        Flaw::RenewalRevives | Flaw::FreshTtlRevives => (slow, &[NO_EARLY_END, NO_REVIVAL]),
        Flaw::CallWithoutBarrier => (Limits { ticks: 3, calls: true, ..alone }, &[NO_EARLY_END]),
        Flaw::ValidFromReceipt => (slow, &[ONE_HOLDER]),
        Flaw::LateAnswerRevives => (slow, &[NO_REVIVAL]),
        Flaw::DriftIgnored => (Limits { ticks: 3, drift: 1, ..begun }, &[NO_EARLY_END, ONE_HOLDER]),
        Flaw::TokenFromSequence | Flaw::NoJump => (Limits { budget: lossy, ..fresh }, &[TOKENS_RISE]),
        Flaw::ShortJump => {
            let budget = Budget { releases: 1, ..lossy };
            (Limits { clients: 3, ticks: 1, ttl: 1, budget, ..begun }, &[TOKENS_RISE])
        }
        Flaw::WaiterForgotten => {
            (Limits { budget: Budget { client_crashes: 1, ..Budget::default() }, ..prompt }, &[PASSED_ON])
        }
    }
}

#[test]
fn every_flaw_is_found() {
    for flaw in Flaw::ALL {
        let (limits, expected) = model_for(flaw);
        // One thread: with several, the broken property that is found first would depend on timing.
        check(Limits { flaw: Some(flaw), ..limits }, 1).assert_found(flaw, expected);
    }
}
