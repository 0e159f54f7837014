//! Memory that locks and sessions use: the resident memory of the process, as the system counts it.
//!
//! Each case is measured in a process of its own, so that no case reuses memory that another has freed.

mod lab;

use std::process::Command;
use std::time::Duration;

use lab::{held_by, name, opening, session_id};
use tenure_core::testing::{HOME, claim_spec, session_spec};
use tenure_core::{Claim, ClaimSpec, ClaimState, Home, Opening, Revision, Session, SessionSpec, Table};

const TTL: Duration = Duration::from_secs(30);

/// Numbers of sessions, and of locks that each session holds.
const CASES: [(usize, usize); 3] = [(1_000, 1_000), (100, 5_000), (100_000, 1)];

fn main() {
    let mut args = std::env::args().skip_while(|arg| arg != "--case").skip(1);
    if let Some(case) = args.next().and_then(|case| case.parse::<usize>().ok()) {
        return measure(CASES[case / 2].0, CASES[case / 2].1, case % 2 == 1);
    }
    println!("{:>9} {:>9} {:>24} {:>14} {:>14}", "sessions", "locks", "", "table", "with the home");
    let me = std::env::current_exe().expect("a path");
    for case in 0..2 * CASES.len() {
        let done = Command::new(&me).args(["--case", &case.to_string()]).status().expect("started");
        assert!(done.success(), "{done}");
    }
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line of the resident memory");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok());
    kilobytes.expect("a number") * 1_024
}

fn measure(sessions: usize, of_each: usize, restored: bool) {
    let before = resident();
    let table = if restored { restore(sessions, of_each) } else { held_by(sessions * of_each, of_each) };
    let with_table = resident();
    let mut home = Home::new(HOME, Duration::from_secs(5));
    home.rebuild(&table, TTL);
    live(&mut home, sessions);
    let with_home = resident();
    let of_each = |bytes: usize| format!("{} bytes", bytes / (sessions * of_each));
    let how = if restored { "restored, of each lock" } else { "grown, of each lock" };
    let (table_only, both) = (of_each(with_table - before), of_each(with_home - before));
    println!("{sessions:>9} {:>9} {how:>24} {table_only:>14} {both:>14}", table.claims().count());
}

/// A table as loaded from a store, where every session and every claim has texts of its own.
fn restore(sessions: usize, of_each: usize) -> Table {
    let session = |number: usize| {
        let Opening { ttl, owner, .. } = opening();
        let spec = SessionSpec { ttl, owner, ..session_spec(session_id(number)) };
        Session::new(spec, Revision((number * (of_each + 1) + 1) as u64))
    };
    let claim = |number: usize| {
        let Session { spec, opened, .. } = session(number / of_each);
        let id = Revision(opened.0 + 1 + (number % of_each) as u64);
        let spec = ClaimSpec { owner: spec.owner, ..claim_spec(spec.id, opened.0, name(number)) };
        Claim::new(id, spec.into(), ClaimState::Held { token: id })
    };
    let claims: Vec<Claim> = (0..sessions * of_each).map(claim).collect();
    let sessions: Vec<Session> = (0..sessions).map(session).collect();
    let revision = claims.last().map_or(Revision(0), |last| last.id);
    Table::restore(revision, Revision(0), Vec::new(), sessions, claims, Vec::new(), Vec::new())
}

/// Simulates some minutes of keep-alives.
fn live(home: &mut Home, sessions: usize) {
    for renewal in 1..30 {
        let now = TTL + TTL / 3 * renewal + Duration::from_millis(u64::from(renewal) * 7 % 50);
        for number in 0..sessions {
            home.renew(&session_id(number), now).expect("kept");
        }
        assert_eq!(home.due(now), []);
    }
}
