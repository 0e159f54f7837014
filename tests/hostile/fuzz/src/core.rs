//! The core: arbitrary commands, decided one after the other, some of them undone.

use tenure_core::{Claim, Event, Recorded, Revision, Table};

use crate::changes;
use crate::draw::Draw;
use crate::invariants;

/// The most commands of one run.
const COMMANDS: usize = 256;

/// For all commands: revisions have no gaps, tokens rise, rejected commands change nothing, undone ones leave no trace,
/// and a replay of the log gives the same table. The invariants of every table hold after each command.
pub fn core(data: &[u8]) {
    let mut draw = Draw::new(data);
    let (mut table, mut log) = (Table::default(), Vec::new());
    for _ in 0..COMMANDS {
        if draw.is_over() {
            break;
        }
        let is_undone = draw.below(8) == 7;
        let command = changes::request(&mut draw, &table);
        let mut events = Vec::new();
        let last_token = table.claims().filter_map(Claim::token).max().unwrap_or_default();
        let outcome = table.decide(command.clone(), &mut events);
        assert!(outcome.is_ok() || events.is_empty(), "{command:?} is rejected, but has events: {events:?}");
        if is_undone {
            table.undo();
        } else {
            table.commit();
            check_events(&log, &events, last_token);
            log.append(&mut events);
        }
        invariants::check(&table);
        assert_eq!(table.revision(), Revision(log.len() as u64), "after {command:?}");
    }
    let mut replayed = Table::default();
    log.iter().for_each(|recorded| replayed.apply(recorded));
    assert_eq!(replayed, table, "the log does not contain every change");
}

fn check_events(log: &[Recorded], events: &[Recorded], last_token: Revision) {
    for (index, recorded) in events.iter().enumerate() {
        assert_eq!(recorded.revision.0, (log.len() + index + 1) as u64, "revisions have gaps");
        if let Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } = &recorded.event {
            assert!(recorded.revision > last_token, "a token does not rise");
            assert!(!spec.names.is_empty());
        }
    }
}
