//! Rejections: each has its own reason, and none leaves a trace.

use tenure_core::testing::{Build, HOME, Lab, acquire, at, evict, expire, label, move_to, operator, release};
use tenure_core::{Command, EndReason, Event, Outcome, Recorded, Rejection, Revision, ServerId, Table};

const OTHER: ServerId = ServerId(9);

fn ended(session: &str, reason: EndReason) -> Rejection {
    Rejection::SessionEnded { session: session.into(), reason }
}

/// Expires an open session.
fn end(lab: &mut Lab, session: &str) {
    let ended = expire(lab.table.session(session).expect("open"));
    assert_eq!(lab.accept(ended), Outcome::Done);
}

#[test]
fn release_can_be_repeated() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    assert_eq!(lab.accept(release("ann", "a", token)), Outcome::Done);
    assert_eq!(lab.accept_without_effect(release("ann", "a", token)), Outcome::Done);
}

#[test]
fn release_that_is_late_does_not_end_a_later_hold() {
    let mut lab = Lab::default();
    let first = lab.hold("ann", "a");
    lab.accept(release("ann", "a", first));
    let second = lab.hold("ann", "a");
    assert!(second > first);
    assert_eq!(lab.accept(release("ann", "a", first)), Outcome::Done, "it had been released");
    assert_eq!(lab.holder("a").map(|claim| claim.id), Some(second), "and that is all");
}

#[test]
fn release_of_a_lock_that_the_session_does_not_hold_is_rejected() {
    let mut lab = Lab::default();
    let anns = lab.hold("ann", "a");
    let bobs = lab.hold("bob", "b");
    let rejected = lab.reject(release("bob", "a", anns));
    let holder_is_ann = matches!(&rejected, Rejection::NotHolder { holder: Some(holder), .. } if &**holder == "ann");
    assert!(holder_is_ann, "{rejected:?}");
    let rejected = lab.reject(release("bob", "c", bobs));
    assert!(matches!(rejected, Rejection::NotHolder { holder: None, .. }), "{rejected:?}");
    let rejected = lab.reject(release("bob", "b", anns));
    assert!(matches!(rejected, Rejection::TokenMismatch { .. }), "{rejected:?}");
    let rejected = lab.reject(release("bob", "b", Revision(99)));
    assert!(matches!(rejected, Rejection::TokenFromFuture { .. }), "{rejected:?}");
}

#[test]
fn release_after_expiry_is_rejected_with_the_reason() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    end(&mut lab, "ann");
    assert_eq!(lab.reject(release("ann", "a", token)), ended("ann", EndReason::Expired));
    let opened = lab.hold("ann", "b");
    assert!(opened > token);
    let rejected = lab.reject(release("ann", "a", token));
    assert!(matches!(rejected, Rejection::HoldEnded { reason: EndReason::Expired, .. }), "{rejected:?}");
}

#[test]
fn release_is_explained_by_a_restored_table_that_recalls_past_events() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.accept(release("ann", "a", token));
    end(&mut lab, "ann");
    lab.table =
        Table::restore(lab.table.revision(), Revision(0), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let unknown = Rejection::SessionNotFound("bob".into());
    assert_eq!(lab.reject(release("bob", "a", token)), unknown);
    lab.events.iter().for_each(|recorded| lab.table.recall(recorded));
    assert_eq!(lab.accept(release("ann", "a", token)), Outcome::Done, "it had been released");
    assert_eq!(lab.reject(release("bob", "a", token)), unknown);
}

#[test]
fn update_changes_the_labels_of_a_claim_and_nothing_else() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    let metadata = label("shard", "7");
    let update = Command::UpdateClaim { session: "ann".into(), name: "a".into(), token, metadata: metadata.clone() };
    let updated = lab.accept(update);
    let claim = lab.table.claims().next().expect("held").clone();
    assert_eq!((&claim.spec.metadata, claim.token()), (&metadata, Some(token)));
    assert_eq!(updated, Outcome::Updated(claim));
}

#[test]
fn history_of_a_lock_consists_of_the_events_of_claims_to_it() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.hold("bob", "b");
    lab.wait("bob", "a");
    lab.accept(release("ann", "a", token));
    let about = |recorded: &&Recorded| recorded.event.is_about("a");
    let history: Vec<&Event> = lab.events.iter().filter(about).map(|recorded| &recorded.event).collect();
    let granted = |event: &Event| matches!(event, Event::ClaimGranted { .. });
    assert!(
        matches!(&*history, [first, Event::ClaimQueued(_), Event::ClaimEnded { .. }, last] if granted(first) && granted(last)),
        "{history:?}"
    );
}

#[test]
fn move_distinguishes_an_unknown_session_from_one_that_ended() {
    let mut lab = Lab::default();
    assert_eq!(lab.reject(move_to("ann", HOME)), Rejection::SessionNotFound("ann".into()));
    lab.hold("ann", "a");
    lab.close("ann");
    assert_eq!(lab.reject(move_to("ann", HOME)), ended("ann", EndReason::Closed));
}

#[test]
fn acquire_that_does_not_wait_leaves_no_trace_if_the_lock_is_held() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let outcome = lab.accept_without_effect(acquire("bob", "a").queue(false));
    assert!(
        matches!(&outcome, Outcome::Busy { blocker, ttl: None, opened: None } if &*blocker.spec.session == "ann"),
        "{outcome:?}"
    );
    assert!(lab.table.session("bob").is_none());
}

#[test]
fn minimum_hold_outlasts_the_release_and_the_session() {
    let mut lab = Lab::default();
    let claim = lab.grant(acquire("ann", "a").min_hold(at(5)));
    lab.accept(release("ann", "a", claim.token().expect("held")));
    lab.close("ann");
    lab.wait("bob", "a");
    lab.accept(Command::EndLingering { claim: claim.id, home: OTHER });
    assert_eq!(lab.holder("a").map(|holder| holder.id), Some(claim.id), "only its home ends it");
    lab.accept(Command::EndLingering { claim: claim.id, home: HOME });
    assert!(matches!(lab.last(), Event::ClaimGranted { spec, .. } if &*spec.session == "bob"), "{:?}", lab.last());
}

#[test]
fn release_can_be_repeated_during_a_minimum_hold_and_however_that_ends() {
    for evicted in [false, true] {
        let mut lab = Lab::default();
        let claim = lab.grant(acquire("ann", "a").min_hold(at(5)));
        let token = claim.token().expect("held");
        lab.accept(release("ann", "a", token));
        assert_eq!(lab.accept(release("ann", "a", token)), Outcome::Done);
        lab.accept(match evicted {
            true => evict("a"),
            false => Command::EndLingering { claim: claim.id, home: HOME },
        });
        assert!(lab.table.lock("a").is_none());
        assert_eq!(lab.accept(release("ann", "a", token)), Outcome::Done);
    }
}

#[test]
fn eviction_ends_a_hold_before_its_minimum_and_explains_it_to_the_holder() {
    let mut lab = Lab::default();
    let claim = lab.grant(acquire("ann", "a").min_hold(at(5)));
    lab.accept(evict("a"));
    assert!(lab.table.lock("a").is_none());
    let rejected = lab.reject(release("ann", "a", claim.token().expect("held")));
    assert!(matches!(rejected, Rejection::HoldEnded { reason: EndReason::Evicted, .. }), "{rejected:?}");
}

#[test]
fn eviction_is_recorded_with_the_operator() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    assert_eq!(lab.accept(evict("a").token(token.next())), Outcome::Evicted(Vec::new()), "not that hold");
    let outcome = lab.accept(evict("a").token(token));
    assert!(matches!(&outcome, Outcome::Evicted(claims) if claims.len() == 1), "{outcome:?}");
    let Event::ClaimEnded { eviction: recorded, reason, .. } = lab.last() else { panic!("{:?}", lab.last()) };
    assert_eq!((recorded.as_ref(), *reason), (Some(&operator()), EndReason::Evicted));
    let rejected = lab.reject(release("ann", "a", token));
    assert!(matches!(rejected, Rejection::HoldEnded { reason: EndReason::Evicted, .. }), "{rejected:?}");
}

#[test]
fn acquire_of_some_but_not_exactly_the_claimed_names_is_rejected() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let both = lab.reject(acquire("ann", ["a", "b"]).in_open_session());
    assert_eq!(both, Rejection::ClaimOverlap { name: "a".into(), session: "ann".into() });
}

#[test]
fn end_of_a_session_by_a_former_home_has_no_effect() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let late = expire(lab.table.session("ann").expect("open"));
    lab.accept(move_to("ann", OTHER));
    assert_eq!(lab.accept_without_effect(late), Outcome::Done);
}
