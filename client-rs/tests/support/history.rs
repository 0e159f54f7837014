//! Checks on the events in the log.

use std::collections::BTreeMap;

use tenure_core::{Event, Revision, Text};
use tenure_server::store::MemoryDatabase;

/// The tokens that were ever granted to sessions, or to one session if named.
pub fn grants(database: &MemoryDatabase, session: Option<&str>) -> Vec<u64> {
    let log = database.log("default");
    let granted = log.iter().flat_map(|batch| &batch.events).filter(|recorded| match &recorded.event {
        Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } => {
            session.is_none_or(|session| *spec.session == *session)
        }
        _ => false,
    });
    granted.map(|recorded| recorded.revision.0).collect()
}

/// Checks that every exclusive lock had at most one holder at any time, that tokens only increased, and that no claim
/// was granted twice.
///
/// # Panics
/// If the history violates this.
pub fn check_history(database: &MemoryDatabase) {
    let mut holders: BTreeMap<Text, Revision> = BTreeMap::new();
    let mut granted: BTreeMap<Revision, Revision> = BTreeMap::new();
    let mut last = Revision(0);
    for recorded in database.log("default").iter().flat_map(|batch| &batch.events) {
        let at = recorded.revision;
        assert!(at > last, "{at} after {last}");
        last = at;
        let mut ends = |claim: Revision, names: &[Text]| {
            for name in names {
                if holders.get(name) == Some(&claim) {
                    holders.remove(name);
                }
            }
        };
        match &recorded.event {
            Event::ClaimEnded { claim, spec, .. } => ends(*claim, &spec.names),
            Event::ClaimTransferred { from, from_spec, .. } => ends(*from, &from_spec.names),
            _ => {}
        }
        if let Event::ClaimGranted { claim, spec } | Event::ClaimTransferred { claim, spec, .. } = &recorded.event {
            assert_eq!(granted.insert(*claim, at), None, "claim {claim} is granted again at {at}");
            for name in &spec.names {
                assert_eq!(holders.insert(name.clone(), *claim), None, "two hold {name} at {at}");
            }
        }
    }
}
