//! Cost of commands, decided and applied.

mod lab;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use lab::{LOCKS_OF_A_SESSION, acquire, ask, decide, held, held_by, name, open, opening, queue, release, session_id};
use tenure_core::testing::{self, Build, close, expire};
use tenure_core::{Command, Event, Outcome, Recorded, Revision, ServerId, Table, Text};

fn main() {
    divan::main();
}

/// Number of commands decided before a commit.
const BATCH: usize = 256;

fn token(outcome: &Outcome) -> Revision {
    match outcome {
        Outcome::Held { claim, .. } => claim.token().expect("held"),
        other => panic!("{other:?}"),
    }
}

/// A batch of grants of distinct names, and then a batch of their releases.
fn pairs(table: &mut Table, acquires: Vec<Command>, releases: Vec<(Text, Text)>) -> usize {
    let mut events: Vec<Recorded> = Vec::with_capacity(BATCH);
    let granted: Vec<Revision> =
        acquires.into_iter().map(|command| token(&decide(table, command, &mut events))).collect();
    table.commit();
    let mut ended: Vec<Recorded> = Vec::with_capacity(BATCH);
    for ((session, name), token) in releases.into_iter().zip(granted) {
        decide(table, Command::Release { session, name, token }, &mut ended);
    }
    table.commit();
    events.len() + ended.len()
}

/// Acquire and release of uncontended names; each counts as an item.
#[divan::bench(args = [1_000, 1_000_000], sample_count = 200, sample_size = 1)]
fn acquire_and_release(bencher: Bencher, locks: usize) {
    let mut table = held(locks);
    let mut next = locks;
    bencher
        .counter(ItemsCount::new(2 * BATCH))
        .with_inputs(|| {
            let sessions = locks / LOCKS_OF_A_SESSION;
            let asked: Vec<(Text, Text)> = (next..next + BATCH)
                .map(|number| (session_id(number.wrapping_mul(7_919) % sessions), name(number)))
                .collect();
            next += BATCH;
            let acquires: Vec<Command> = asked.iter().map(|(session, name)| acquire(session, name.clone())).collect();
            let releases = asked.iter().map(|(session, name)| (Text::from(&**session), Text::from(&**name))).collect();
            (acquires, releases)
        })
        .bench_local_values(|(acquires, releases)| pairs(&mut table, acquires, releases));
}

/// Acquire and release in one session that holds all the other locks.
#[divan::bench(args = [1_000, 5_000], sample_count = 200, sample_size = 1)]
fn acquire_and_release_in_one_session(bencher: Bencher, locks: usize) {
    let mut table = held_by(locks, locks);
    let session = session_id(0);
    let mut next = locks;
    bencher
        .counter(ItemsCount::new(2 * BATCH))
        .with_inputs(|| {
            let names: Vec<Text> = (next..next + BATCH).map(name).collect();
            next += BATCH;
            let acquires: Vec<Command> = names.iter().map(|name| acquire(&session, name.clone())).collect();
            (acquires, names.into_iter().map(|name| (session.clone(), name)).collect())
        })
        .bench_local_values(|(acquires, releases)| pairs(&mut table, acquires, releases));
}

/// Release of a long-held lock, and acquire of another one that stays held.
#[divan::bench(args = [1_000, 1_000_000], sample_count = 200, sample_size = 1)]
fn old_ones_go_and_new_ones_stay(bencher: Bencher, locks: usize) {
    let mut table = Table::default();
    let mut tokens: Vec<Revision> = Vec::new();
    for number in 0..locks {
        let session = session_id(number / LOCKS_OF_A_SESSION);
        if number.is_multiple_of(LOCKS_OF_A_SESSION) {
            ask(&mut table, open(&session));
        }
        tokens.push(token(&ask(&mut table, acquire(&session, name(number)))));
    }
    let (mut next, mut place) = (locks, 0usize);
    let of = |place: usize| session_id(place / LOCKS_OF_A_SESSION);
    let mut names: Vec<usize> = (0..locks).collect();
    bencher.counter(ItemsCount::new(2usize)).bench_local(|| {
        place = (place + 611_953) % locks;
        let session = of(place);
        ask(&mut table, release(&session, &name(names[place]), tokens[place]));
        tokens[place] = token(&ask(&mut table, acquire(&session, name(next))));
        names[place] = next;
        next += 1;
    });
}

/// The holder releases a lock, the first waiter is granted it, and the former holder waits behind the rest.
#[divan::bench(args = [1, 1_000, 10_000])]
fn hand_over(bencher: Bencher, waiters: usize) {
    let mut table = queue(waiters);
    let lock: Text = "the/one/lock".into();
    bencher.counter(ItemsCount::new(2usize)).bench_local(|| {
        let claim = table.lock(&lock).and_then(|lock| table.claim(*lock.holders().first()?)).expect("held").clone();
        let session = &claim.spec.session;
        ask(&mut table, release(session, &lock, claim.token().expect("held")));
        ask(&mut table, acquire(session, lock.clone()))
    });
}

/// A waiter repeats its acquire, and keeps waiting.
#[divan::bench(args = [1, 1_000, 10_000])]
fn ask_again(bencher: Bencher, waiters: usize) {
    let mut table = queue(waiters);
    let session = session_id(waiters / 2 + 1);
    bencher.bench_local(|| ask(&mut table, acquire(&session, "the/one/lock".into())));
}

/// A session opens, acquires a lock and closes.
#[divan::bench(args = [1_000, 100_000])]
fn open_and_close(bencher: Bencher, sessions: usize) {
    let mut table = held_by(sessions, 1);
    let mut next = sessions;
    bencher.counter(ItemsCount::new(3usize)).bench_local(|| {
        let session = session_id(next);
        next += 1;
        ask(&mut table, open(&session));
        ask(&mut table, acquire(&session, name(next)));
        ask(&mut table, close(session))
    });
}

/// A session with many locks moves to another server.
#[divan::bench(args = [1, 10_000])]
fn move_session(bencher: Bencher, claims: usize) {
    let mut table = held_by(claims, claims);
    let mut home = 1;
    bencher.bench_local(|| {
        home = 3 - home;
        ask(&mut table, testing::move_to(session_id(0), ServerId(home)))
    });
}

/// Undo of decided commands that were not committed.
#[divan::bench(args = [1_000, 1_000_000], sample_count = 200, sample_size = 1)]
fn undo(bencher: Bencher, locks: usize) {
    let mut table = held(locks);
    let mut next = locks;
    bencher
        .counter(ItemsCount::new(BATCH))
        .with_inputs(|| {
            let commands: Vec<Command> =
                (next..next + BATCH).map(|number| acquire(&session_id(0), name(number))).collect();
            next += BATCH;
            commands
        })
        .bench_local_values(|commands| {
            let mut events = Vec::with_capacity(BATCH);
            for command in commands {
                decide(&mut table, command, &mut events);
            }
            table.undo();
        });
}

/// Applies another server's grants and ends of holds.
#[divan::bench(args = [1_000, 1_000_000], sample_count = 200, sample_size = 1)]
fn apply(bencher: Bencher, locks: usize) {
    let mut table = held(locks);
    let mut other = held(locks);
    let mut next = locks;
    bencher
        .counter(ItemsCount::new(2 * BATCH))
        .with_inputs(|| {
            let mut events = Vec::new();
            for number in next..next + BATCH {
                let session = session_id(number % (locks / LOCKS_OF_A_SESSION));
                let granted = token(&decide(&mut other, acquire(&session, name(number)), &mut events));
                decide(&mut other, release(&session, &name(number), granted), &mut events);
            }
            other.commit();
            next += BATCH;
            events
        })
        .bench_local_values(|events| {
            for recorded in &events {
                table.apply(recorded);
            }
        });
}

/// Restores a table from its parts.
#[divan::bench(args = [1_000, 1_000_000], max_time = 20)]
fn restore(bencher: Bencher, locks: usize) {
    let table = held(locks);
    let parts = || {
        let sessions = table.sessions_after(Revision(0)).cloned().collect();
        (sessions, table.claims().cloned().collect())
    };
    bencher.counter(ItemsCount::new(locks)).with_inputs(parts).bench_local_values(|(sessions, claims)| {
        Table::restore(table.revision(), table.lost(), Vec::new(), sessions, claims, Vec::new(), Vec::new())
    });
}

/// Lists a page of names.
#[divan::bench(args = [1_000, 1_000_000])]
fn list_a_page(bencher: Bencher, locks: usize) {
    let table = held(locks);
    bencher
        .counter(ItemsCount::new(100usize))
        .bench_local(|| table.locks_after(black_box("orders/42/"), Some("orders/42/customer-1")).take(100).count());
}

/// Closes a session with many locks.
#[divan::bench(args = [1_000, 5_000], sample_size = 1, max_time = 10)]
fn end_a_session(bencher: Bencher, claims: usize) {
    bencher.counter(ItemsCount::new(claims)).with_inputs(|| held_by(claims, claims)).bench_local_values(|mut table| {
        let mut events = Vec::new();
        let end = expire(table.session(&session_id(0)).expect("open"));
        decide(&mut table, end, &mut events);
        table.commit();
        assert!(matches!(events.last(), Some(Recorded { event: Event::SessionEnded { .. }, .. })));
        table
    });
}

/// Opening the session is part of the acquire.
#[divan::bench]
fn acquire_opens(bencher: Bencher) {
    let mut table = held(1_000);
    let mut next = 1_000;
    bencher.counter(ItemsCount::new(2usize)).bench_local(|| {
        next += 1;
        let session = session_id(next);
        ask(&mut table, acquire(&session, name(next)).opening(Some(opening())));
        ask(&mut table, close(session))
    });
}
