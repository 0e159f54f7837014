//! Tables to benchmark, and the commands that run on them.

#![allow(dead_code, reason = "each benchmark needs some of it")]

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{AskedMode, Command, Opening, Origin, Outcome, Recorded, Revision, ServerId, Table, Text};

/// The server that sends the commands.
pub const ME: ServerId = ServerId(1);

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
    Opening {
        ttl: TTL,
        disconnect_grace: None,
        owner: "worker-17.example".into(),
        metadata: Arc::default(),
        identity: None,
    }
}

pub fn open(session: &Text) -> Command {
    Command::OpenSession { session: session.clone(), opening: opening(), home: ME, attachment: 0, client: None }
}

pub fn acquire(session: &Text, name: Text) -> Command {
    Command::Acquire {
        origin: Origin::default(),
        opened: None,
        // A separate allocation, as when it arrives in a call.
        session: Text::from(&**session),
        opening: None,
        home: ME,
        names: vec![name].into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::default(),
        min_hold: Duration::ZERO,
    }
}

pub fn release(session: &Text, name: &Text, token: Revision) -> Command {
    Command::Release { session: Text::from(&**session), name: Text::from(&**name), token }
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
