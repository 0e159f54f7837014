//! Checks that fencing tokens are unique and rise.

use std::collections::BTreeMap;

use crate::Violations;
use crate::history::{Call, CallKind, History, Outcome, Sharing};

/// A token belongs to one session, is not granted again after its release, and is higher than the tokens of earlier
/// incompatible holds.
pub(crate) fn rise(history: &History, found: &mut Violations) {
    let mut owners = BTreeMap::new();
    for (call, token) in history.acquired() {
        let owner = owners.entry(token).or_insert(&call.session);
        if *owner != &call.session {
            found.add("a token belongs to one session", format!("{token} to {owner} and to {}", call.session));
        }
    }
    let mut released = BTreeMap::new();
    for call in history.calls.iter().filter(|call| call.outcome == Outcome::Done) {
        if let CallKind::Release(token) | CallKind::Transfer(token) = call.kind {
            released.insert(token, call.end);
        }
    }
    for (call, token) in history.acquired() {
        if let Some(at) = released.get(&token).filter(|at| **at < call.start) {
            found.add("a released token is not granted again", format!("{call:?}: released at {at:?}"));
        }
    }
    let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (call, token) in history.acquired() {
        for name in &call.names {
            by_name.entry(name).or_default().push((call, token));
        }
    }
    by_name.values().for_each(|grants| check_order_for_lock(grants, found));
}

/// A holder whose mode is incompatible with earlier holds has a higher token than these.
fn check_order_for_lock(grants: &[(&Call, u64)], found: &mut Violations) {
    let mut by_reply: Vec<_> = grants.iter().map(|(call, token)| (call.end, call.kind, *token)).collect();
    by_reply.sort_unstable_by_key(|(end, ..)| *end);
    let mut by_request = grants.to_vec();
    by_request.sort_unstable_by_key(|(call, _)| call.start);
    let mut by_reply = by_reply.into_iter().peekable();
    let mut highest: Vec<(Sharing, u64)> = Vec::new();
    for (call, token) in by_request {
        while let Some((_, kind, earlier)) = by_reply.next_if(|(end, ..)| *end < call.start) {
            let Some(sharing) = kind.sharing() else { continue };
            match highest.iter_mut().find(|(known, _)| *known == sharing) {
                Some((_, highest)) => *highest = earlier.max(*highest),
                None => highest.push((sharing, earlier)),
            }
        }
        let Some(sharing) = call.kind.sharing() else { continue };
        let above = highest.iter().find(|(other, highest)| token < *highest && !sharing.is_compatible_with(*other));
        if let Some((_, above)) = above {
            found.add("tokens rise", format!("{above} was granted before {call:?}"));
        }
    }
}
