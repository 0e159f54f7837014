//! Planned handoffs, with time passed in: what the holder is given, and when a better candidate may ask for the lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, ClaimState, Command, EndReason, Event, Eviction, Handoff, Home, LockSettings, Obstacle, Opening,
    Outcome, Preempt, Recorded, Rejection, Revision, ServerId, Table, Text, Tick,
};

const ME: ServerId = ServerId(1);

const fn at(seconds: u64) -> Tick {
    Duration::from_secs(seconds)
}

struct Lab {
    table: Table,
    home: Home,
    events: Vec<Recorded>,
}

impl Lab {
    fn new() -> Self {
        Self { table: Table::default(), home: Home::new(ME, at(5)), events: Vec::new() }
    }

    fn try_ask(&mut self, command: Command, now: Tick) -> Result<Outcome, Rejection> {
        let mut events = Vec::new();
        let outcome = self.table.decide(command, &mut events);
        self.table.commit();
        for recorded in &events {
            self.home.observe(recorded, &self.table, now);
        }
        self.events.extend(events);
        outcome
    }

    fn ask(&mut self, command: Command, now: Tick) -> Outcome {
        self.try_ask(command, now).expect("allowed")
    }

    /// Something that the home learns of only when it takes over the table as a whole.
    fn unseen(&mut self, command: Command) {
        self.table.decide(command, &mut Vec::new()).expect("allowed");
        self.table.commit();
    }

    fn acquire(&mut self, session: &str, priority: i32, now: Tick) -> Revision {
        self.acquire_as(session, &["a"], AskedMode::Exclusive, priority, Duration::ZERO, now)
    }

    fn acquire_as(
        &mut self,
        session: &str,
        names: &[&str],
        mode: AskedMode,
        priority: i32,
        min_hold: Duration,
        now: Tick,
    ) -> Revision {
        let opening =
            Opening { ttl: at(1_000), disconnect_grace: None, owner: Text::from(""), metadata: Arc::default() };
        let command = Command::Acquire {
            attached: false,
            session: session.into(),
            opening: Some(opening),
            home: ME,
            names: names.iter().map(|name| Text::from(*name)).collect(),
            mode,
            queue: true,
            priority,
            metadata: Arc::new(BTreeMap::new()),
            min_hold,
        };
        match self.ask(command, now) {
            Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. } => claim.id,
            other => panic!("{other:?}"),
        }
    }

    fn allow_preemption(&mut self, settling: Duration, now: Tick) {
        let settings = LockSettings { limit: None, preempt: Some(Preempt { settling, drain: at(3) }) };
        self.ask(Command::ConfigureLock { name: "a".into(), settings, by: operator() }, now);
    }

    fn transfer(&mut self, to: Option<&str>, by: Handoff, now: Tick) -> Result<Outcome, Rejection> {
        let token = self.holder().1;
        let to = to.map(Text::from);
        self.try_ask(Command::Transfer { name: "a".into(), token: Some(token), to, by }, now)
    }

    /// An operator's wish that whoever is best holds next.
    fn wish(&self) -> Command {
        Command::Transfer { name: "a".into(), token: Some(self.holder().1), to: None, by: by_operator() }
    }

    fn release(&mut self, now: Tick) {
        let (session, token) = self.holder();
        self.ask(Command::Release { session: session.as_str().into(), name: "a".into(), token }, now);
    }

    /// Carries out what is due.
    fn pass(&mut self, now: Tick) {
        for command in self.home.due(now) {
            self.ask(command, now);
        }
    }

    fn holder(&self) -> (String, Revision) {
        let held = self.table.claims().find(|claim| matches!(claim.state, ClaimState::Held { .. })).expect("held");
        (held.spec.session.to_string(), held.token().expect("held"))
    }

    /// Who was asked to hand over, by session.
    fn asked(&self) -> Vec<&str> {
        let pending = self.table.claims().filter(|claim| claim.transfer.is_some());
        pending.map(|claim| &*claim.spec.session).collect()
    }
}

fn operator() -> Eviction {
    Eviction { operator: "op".into(), note: "".into() }
}

fn by_operator() -> Handoff {
    Handoff::ByOperator { by: operator(), drain: at(3) }
}

#[test]
fn the_holder_confirms_by_releasing_and_the_named_waiter_holds_next_in_one_event() {
    let mut lab = Lab::new();
    let ann = lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    let cid = lab.acquire("cid", 0, at(0));
    let asked = lab.transfer(Some("cid"), by_operator(), at(1)).expect("possible");
    assert!(matches!(asked, Outcome::Transferring { claim } if claim.id == ann));
    assert_eq!(lab.holder().0, "ann", "it holds on until it confirms");
    let before = lab.holder().1;
    lab.release(at(2));
    assert_eq!(lab.holder().0, "cid");
    assert!(lab.holder().1 > before);
    let last = lab.events.last().expect("an event");
    let Event::ClaimTransferred { from, from_token, claim, .. } = &last.event else { panic!("{last:?}") };
    assert_eq!((*from, *from_token, *claim, last.revision), (ann, before, cid, lab.holder().1));
    lab.pass(at(100));
    assert_eq!(lab.holder().0, "cid", "nothing of the transfer is left");
}

#[test]
fn a_confirmation_can_be_repeated() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(0)).expect("possible");
    let (_, token) = lab.holder();
    lab.release(at(1));
    let again = Command::Release { session: "ann".into(), name: "a".into(), token };
    assert_eq!(lab.try_ask(again.clone(), at(1)), Ok(Outcome::Done));
    lab.ask(Command::CloseSession { session: "ann".into() }, at(1));
    assert_eq!(lab.try_ask(again, at(2)), Ok(Outcome::Done));
    assert_eq!(lab.holder().0, "bob");
}

#[test]
fn a_holder_that_does_not_confirm_holds_on() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    lab.pass(at(3));
    assert_eq!(lab.asked(), ["ann"]);
    lab.pass(at(4));
    assert!(lab.asked().is_empty());
    assert_eq!(lab.holder().0, "ann");
    lab.release(at(5));
    assert_eq!(lab.holder().0, "bob", "an ordinary release");
    assert!(lab.events.iter().any(|recorded| matches!(
        recorded.event,
        Event::ClaimEnded { token: Some(_), reason: EndReason::Released, .. }
    )));
}

#[test]
fn a_named_waiter_that_left_is_replaced_by_the_best() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.acquire("cid", 0, at(0));
    lab.transfer(Some("cid"), by_operator(), at(0)).expect("possible");
    lab.ask(Command::CloseSession { session: "cid".into() }, at(0));
    lab.release(at(1));
    assert_eq!(lab.holder().0, "bob");
    assert!(matches!(lab.events.last().expect("an event").event, Event::ClaimTransferred { .. }));
}

#[test]
fn a_holder_that_has_stopped_hands_over_at_once() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.acquire("cid", 0, at(0));
    let done = lab.transfer(Some("cid"), Handoff::ByHolder { session: "ann".into() }, at(0)).expect("possible");
    assert!(matches!(done, Outcome::Transferred { to, .. } if to.spec.session == "cid".into()));
    assert_eq!(lab.holder().0, "cid");
}

#[test]
fn what_cannot_be_handed_over_is_refused_and_changes_nothing() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    let obstacle = |refused: Result<Outcome, Rejection>| match refused {
        Err(Rejection::TransferImpossible { obstacle, .. }) => obstacle,
        other => panic!("{other:?}"),
    };
    assert_eq!(obstacle(lab.transfer(None, by_operator(), at(0))), Obstacle::NobodyWaits);
    assert_eq!(obstacle(lab.transfer(Some("zoe"), by_operator(), at(0))), Obstacle::NotWaiting("zoe".into()));
    lab.acquire("bob", 0, at(0));
    let stale = Command::Transfer { name: "a".into(), token: Some(Revision(1)), to: None, by: by_operator() };
    assert_eq!(obstacle(lab.try_ask(stale, at(0))), Obstacle::NotHeld);
    let foreign = lab.transfer(None, Handoff::ByHolder { session: "bob".into() }, at(0));
    assert!(matches!(foreign, Err(Rejection::NotHolder { .. })), "{foreign:?}");
    lab.transfer(None, by_operator(), at(0)).expect("possible");
    let repeated = lab.transfer(None, by_operator(), at(0));
    assert!(matches!(repeated, Ok(Outcome::Transferring { .. })), "{repeated:?}");
    let another = lab.transfer(Some("bob"), by_operator(), at(0));
    assert!(matches!(another, Err(Rejection::TransferPending { .. })), "{another:?}");
    assert_eq!(lab.holder().0, "ann");
}

#[test]
fn a_better_candidate_that_has_settled_is_handed_the_lock_and_never_takes_it() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.acquire("bob", 0, at(1));
    lab.acquire("cid", 5, at(2));
    lab.pass(at(11));
    assert!(lab.asked().is_empty(), "it has not settled yet, and one that is not better never asks");
    lab.pass(at(12));
    assert_eq!(lab.asked(), ["ann"]);
    assert_eq!(lab.holder().0, "ann", "asked, not robbed");
    lab.release(at(13));
    assert_eq!(lab.holder().0, "cid");
}

#[test]
fn only_the_first_in_the_queue_preempts() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(10), at(0));
    let bob = lab.acquire("bob", 3, at(1));
    let cid = lab.acquire("cid", 5, at(5));
    lab.ask(Command::Preempt { claim: bob, home: ME }, at(6));
    assert!(lab.asked().is_empty());
    lab.pass(at(11));
    assert!(lab.asked().is_empty(), "the better one has not settled");
    lab.ask(Command::EndWait { claim: cid, home: ME }, at(12));
    lab.pass(at(12));
    assert_eq!(lab.asked(), ["ann"], "the one that has settled is first now");
}

#[test]
fn a_preemption_that_is_not_confirmed_is_tried_again_after_settling_anew() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 1, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.pass(at(10));
    assert_eq!(lab.asked(), ["ann"]);
    lab.pass(at(13));
    assert!(lab.asked().is_empty());
    lab.acquire("cid", 0, at(14));
    lab.pass(at(22));
    assert!(lab.asked().is_empty(), "other things that happen to the lock make it no sooner");
    lab.pass(at(23));
    assert_eq!(lab.asked(), ["ann"]);
}

#[test]
fn a_candidate_whose_caller_is_away_does_not_preempt_before_it_is_back() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(2), at(0));
    let bob = lab.acquire("bob", 1, at(0));
    lab.home.leave(bob, at(1));
    lab.pass(at(2));
    assert!(lab.asked().is_empty());
    lab.home.attend(bob);
    lab.pass(at(3));
    assert_eq!(lab.asked(), ["ann"]);
}

#[test]
fn a_handoff_goes_on_at_the_server_that_adopts_the_holder() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    lab.home = Home::new(ServerId(2), at(5));
    lab.ask(Command::Adopt { dead: ME, by: ServerId(2) }, at(2));
    lab.pass(at(4));
    assert_eq!(lab.asked(), ["ann"], "counted anew");
    lab.pass(at(5));
    assert!(lab.asked().is_empty());
}

#[test]
fn what_of_a_handoff_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 1, at(0));
    lab.allow_preemption(at(10), at(0));
    let asking = lab.home.due(at(10));
    assert!(matches!(&*asking, [Command::Preempt { .. }]));
    lab.home.again(&asking[0], at(11));
    lab.pass(at(11));
    assert_eq!(lab.asked(), ["ann"]);
    let ending = lab.home.due(at(14));
    assert!(matches!(&*ending, [Command::EndTransfer { .. }]));
    lab.home.again(&ending[0], at(15));
    lab.pass(at(15));
    assert!(lab.asked().is_empty());
}

#[test]
fn a_handoff_is_counted_at_the_home_of_its_holder_only() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.home = Home::new(ServerId(2), at(5));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    assert_eq!(lab.home.next_deadline(), None);
}

#[test]
fn a_table_that_was_loaded_anew_does_not_prolong_a_handoff() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    lab.home.rebuild(&lab.table, at(3));
    lab.pass(at(4));
    assert!(lab.asked().is_empty());
}

#[test]
fn a_handoff_that_was_learnt_of_from_the_table_alone_has_its_full_time() {
    let mut lab = Lab::new();
    let ann = lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    let first = lab.ask(lab.wish(), at(1));
    let Outcome::Transferring { claim } = first else { panic!("{first:?}") };
    let started = claim.transfer.expect("asked for").started;
    lab.unseen(Command::EndTransfer { claim: ann, started, home: ME });
    lab.unseen(lab.wish());
    lab.home.rebuild(&lab.table, at(3));
    lab.pass(at(4));
    assert_eq!(lab.asked(), ["ann"], "only the first one would have been over");
    lab.pass(at(6));
    assert!(lab.asked().is_empty());
}

#[test]
fn who_has_been_granted_the_lock_asks_for_it_no_more() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 1, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.release(at(5));
    assert_eq!(lab.holder().0, "bob");
    assert_eq!(lab.home.due(at(100)), []);
}

#[test]
fn a_better_candidate_than_the_one_that_was_named_asks_as_soon_as_it_has_settled() {
    let mut lab = Lab::new();
    lab.acquire("ann", 9, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.acquire("bob", 5, at(1));
    lab.acquire("cid", 0, at(2));
    lab.transfer(Some("cid"), Handoff::ByHolder { session: "ann".into() }, at(3)).expect("possible");
    lab.pass(at(10));
    assert!(lab.asked().is_empty());
    lab.pass(at(11));
    assert_eq!(lab.asked(), ["cid"], "it has settled while it waited for one that was better");
}

#[test]
fn nobody_preempts_who_is_as_good_or_has_a_minimum_or_shares() {
    let holder = |mode, priority, min_hold| {
        let mut lab = Lab::new();
        lab.acquire_as("ann", &["a"], mode, priority, min_hold, at(0));
        lab.allow_preemption(at(10), at(0));
        let bob = lab.acquire("bob", 1, at(0));
        lab.pass(at(10));
        lab.ask(Command::Preempt { claim: bob, home: ME }, at(10));
        lab.asked().len()
    };
    assert_eq!(holder(AskedMode::Exclusive, 0, Duration::ZERO), 1);
    assert_eq!(holder(AskedMode::Exclusive, 1, Duration::ZERO), 0);
    assert_eq!(holder(AskedMode::Exclusive, 0, at(20)), 0);
    assert_eq!(holder(AskedMode::Shared, 0, Duration::ZERO), 0);
}

#[test]
fn a_named_waiter_that_needs_more_than_is_handed_over_waits_on() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    let bob = lab.acquire_as("bob", &["a", "b"], AskedMode::Exclusive, 0, Duration::ZERO, at(0));
    lab.transfer(Some("bob"), by_operator(), at(0)).expect("possible");
    let cid = lab.acquire_as("cid", &["b"], AskedMode::Exclusive, 5, Duration::ZERO, at(0));
    assert_eq!(lab.table.claim(cid).and_then(|claim| claim.token()), Some(cid), "it is better");
    lab.release(at(1));
    assert_eq!(lab.table.claim(bob).and_then(|claim| claim.token()), None, "what it waits for too is held");
    assert_eq!(lab.holder().0, "cid");
}

#[test]
fn a_handoff_is_in_the_history_of_all_locks_that_either_claims() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire_as("bob", &["a", "b"], AskedMode::Exclusive, 0, Duration::ZERO, at(0));
    lab.transfer(None, Handoff::ByHolder { session: "ann".into() }, at(0)).expect("possible");
    let last = &lab.events.last().expect("an event").event;
    assert_eq!(["a", "b", "c"].map(|name| last.is_about(name)), [true, true, false], "{last:?}");
}

#[test]
fn permits_that_are_handed_over_are_free_for_who_follows() {
    let mut lab = Lab::new();
    let permit = AskedMode::Permits { permits: 1, limit: Some(2) };
    lab.acquire_as("ann", &["a"], permit, 0, Duration::ZERO, at(0));
    lab.acquire_as("zed", &["a"], permit, 0, Duration::ZERO, at(0));
    let bob = lab.acquire_as("bob", &["a"], permit, 0, Duration::ZERO, at(0));
    assert!(lab.table.claim(bob).is_some_and(|claim| claim.token().is_none()));
    lab.transfer(Some("bob"), Handoff::ByHolder { session: "ann".into() }, at(0)).expect("possible");
    let holders: Vec<String> = lab.table.claims().map(|claim| claim.spec.session.to_string()).collect();
    assert_eq!(holders, ["zed", "bob"]);
}

#[test]
fn the_end_of_a_hold_tells_what_others_go_on_holding() {
    let mut lab = Lab::new();
    lab.acquire_as("ann", &["a", "b"], AskedMode::Shared, 0, Duration::ZERO, at(0));
    lab.acquire_as("bob", &["a"], AskedMode::Shared, 0, Duration::ZERO, at(0));
    lab.acquire_as("cid", &["c"], AskedMode::Exclusive, 0, Duration::ZERO, at(0));
    lab.acquire_as("dan", &["c"], AskedMode::Shared, 0, Duration::ZERO, at(0));
    for (session, expected) in [("ann", &["a"][..]), ("bob", &[]), ("dan", &[]), ("cid", &[])] {
        let before = lab.events.len();
        lab.ask(Command::CloseSession { session: session.into() }, at(1));
        let ended = lab.events[before..].iter().find_map(|recorded| match &recorded.event {
            Event::ClaimEnded { still_held, .. } => Some(still_held.iter().map(|name| &**name).collect::<Vec<_>>()),
            _ => None,
        });
        assert_eq!(ended.as_deref(), Some(expected), "{session}");
    }
}

#[test]
fn who_waits_for_more_permits_than_there_will_be_is_evicted() {
    let mut lab = Lab::new();
    let permits = |permits| AskedMode::Permits { permits, limit: Some(3) };
    lab.acquire_as("ann", &["a"], permits(3), 0, Duration::ZERO, at(0));
    let bob = lab.acquire_as("bob", &["a"], permits(3), 0, Duration::ZERO, at(0));
    let cid = lab.acquire_as("cid", &["a"], permits(2), 0, Duration::ZERO, at(0));
    let settings = LockSettings { limit: Some(2), preempt: None };
    lab.ask(Command::ConfigureLock { name: "a".into(), settings, by: operator() }, at(1));
    assert!(lab.table.claim(bob).is_none());
    assert!(lab.table.claim(cid).is_some());
}
