//! Tables to benchmark, and the commands that run on them.

#![allow(dead_code, reason = "each benchmark needs some of it")]

use std::time::Duration;

use tenure_core::testing::{self, Build};
use tenure_core::{Command, Opening, Outcome, Recorded, Revision, Table, Text};

/// Number of locks that a session holds in the benchmarked tables.
pub const LOCKS_OF_A_SESSION: usize = 1_000;

const TTL: Duration = Duration::from_secs(30);

/// A name typical of programs: 27 bytes, with nearly the same prefix for all. Neighbours in number are not neighbours
/// in order.
pub fn name(number: usize) -> Text {
    let scattered = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    Text::from(format!("orders/{:02}/customer-{scattered:010}", number % 100))
}

/// A session id, as long as those that the service generates.
pub fn session_id(number: usize) -> Text {
    Text::from(format!("0199f3a2-7c41-7d3e-8b51-{number:012x}"))
}

pub fn opening() -> Opening {
    Opening { ttl: TTL, owner: "worker-17.example".into(), ..testing::opening() }
}

pub fn open(session: &Text) -> Command {
    testing::open(session.clone()).with_opening(|with| *with = opening())
}

/// The session is a separate allocation, as when it arrives in a call.
pub fn acquire(session: &Text, name: Text) -> Command {
    testing::acquire(&**session, name).in_open_session()
}

pub fn release(session: &Text, name: &Text, token: Revision) -> Command {
    testing::release(&**session, &**name, token)
}

/// Decides a command that must not be rejected.
pub fn decide(table: &mut Table, command: Command, events: &mut Vec<Recorded>) -> Outcome {
    table.decide(command, events).expect("allowed")
}

/// Decides a command and commits it.
pub fn ask(table: &mut Table, command: Command) -> Outcome {
    let mut events = Vec::new();
    let outcome = decide(table, command, &mut events);
    table.commit();
    outcome
}

/// A table in which sessions hold `locks` locks, `of_each` per session.
pub fn held_by(locks: usize, of_each: usize) -> Table {
    let mut table = Table::default();
    for number in 0..locks {
        let session = session_id(number / of_each);
        if number.is_multiple_of(of_each) {
            ask(&mut table, open(&session));
        }
        ask(&mut table, acquire(&session, name(number)));
    }
    table
}

/// A table in which `locks` locks are held.
pub fn held(locks: usize) -> Table {
    held_by(locks, LOCKS_OF_A_SESSION)
}

/// A table with one held lock, and its waiters: the sessions after the first, in order.
pub fn queue(waiters: usize) -> Table {
    let mut table = held_by(waiters + 1, 1);
    for number in 0..=waiters {
        ask(&mut table, acquire(&session_id(number), "the/one/lock".into()));
    }
    table
}
