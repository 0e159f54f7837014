//! Commands drawn from bytes, about few sessions, locks and groups, so that most of them are meaningful.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Acquire, AskedMode, Basis, Claim, Command, EndReason, Eviction, GroupCommand, Handoff, Limits, LockSettings,
    Metadata, Names, Opening, Preempt, Recorded, Request, Revision, ServerId, Table, Text, no_labels,
};

use crate::draw::Draw;

mod declared;

const SESSIONS: [&str; 4] = ["ann", "bob", "cid", "dot"];
const LOCKS: [&str; 4] = ["a", "b", "c", "\u{1f512}\"\\"];
const GROUPS: [&str; 2] = ["g", "h"];
const IDENTITIES: [&str; 2] = ["token:ann", "token:bob"];

/// A table after the commands drawn from bytes, all committed, and the log that led to it.
pub(crate) fn table(draw: &mut Draw<'_>, most: usize) -> (Table, Vec<Recorded>) {
    let (mut table, mut log) = (Table::default(), Vec::new());
    for _ in 0..draw.below(most) {
        let command = request(draw, &table);
        // A rejected command changes nothing.
        let _ = table.decide(command, &mut log);
        table.commit();
    }
    (table, log)
}

/// Any request to a table.
pub(crate) fn request(draw: &mut Draw<'_>, table: &Table) -> Request {
    if draw.below(8) != 0 {
        return command(draw, table).into();
    }
    let (identity, limits) = (draw.of(&IDENTITIES).into(), limits(draw));
    command(draw, table).by(Some(&identity), limits)
}

fn limits(draw: &mut Draw<'_>) -> Limits {
    let mut few = || draw.maybe(|draw| draw.below(3) as u32);
    Limits { sessions: few(), claims: few(), waiters: few(), memberships: few() }
}

fn command(draw: &mut Draw<'_>, table: &Table) -> Command {
    match draw.below(40) {
        0 => Command::OpenSession { session: session(draw), opening: opening(draw), home: home(draw) },
        1 => Command::MoveSession { session: session(draw), home: home(draw) },
        2 => Command::CloseSession { session: session(draw) },
        3 => {
            let session = session(draw);
            let opened = table.session(&session).map_or(Revision(draw.number()), |found| found.opened);
            let reason = draw.of(&[EndReason::Expired, EndReason::Disconnected]);
            Command::EndSession { session, opened, home: home(draw), reason }
        }
        4 | 5 => Command::CancelAcquire { session: session(draw), names: names(draw) },
        6 => Command::EndWait { claim: claim(draw, table), home: home(draw) },
        7 if draw.flag() => Command::Acknowledge { claim: claim(draw, table) },
        7 => Command::Abandon { claim: claim(draw, table), home: home(draw) },
        8 | 9 => Command::Release { session: session(draw), name: name(draw), token: token(draw, table) },
        10 | 11 => release(draw, table),
        12 => Command::EndLingering { claim: claim(draw, table), home: home(draw) },
        13 => {
            Command::Evict { name: name(draw), token: draw.maybe(|draw| token(draw, table)), eviction: operator(draw) }
        }
        14 => Command::UpdateClaim {
            session: session(draw),
            name: name(draw),
            token: token(draw, table),
            metadata: labels(draw),
        },
        15 | 16 => Command::Transfer {
            name: name(draw),
            token: draw.maybe(|draw| token(draw, table)),
            to: draw.maybe(session),
            by: match draw.flag() {
                true => Handoff::ByHolder { session: session(draw) },
                false => Handoff::ByOperator { by: operator(draw), drain: draw.millis() },
            },
        },
        17 => Command::Preempt { claim: claim(draw, table), home: home(draw) },
        18 => {
            let claim = claim(draw, table);
            let pending = table.claim(claim).and_then(|claim| claim.transfer.as_deref());
            let started = pending.map_or(Revision(draw.number()), |transfer| transfer.started);
            Command::EndTransfer { claim, started, home: home(draw) }
        }
        19 => Command::ConfigureLock {
            name: name(draw),
            settings: LockSettings {
                limit: draw.maybe(|draw| draw.byte().into()).filter(|limit| *limit > 0),
                preempt: draw.maybe(|draw| Preempt { settling: draw.millis(), drain: draw.millis() }),
            },
            by: operator(draw),
        },
        20 => Command::Adopt { dead: home(draw), by: home(draw) },
        21..25 => Command::Group(group(draw, table)),
        32.. => declared::command(draw, table),
        _ => Command::Acquire(Acquire {
            session: session(draw),
            opening: draw.maybe(opening),
            home: home(draw),
            received: if draw.flag() { Revision(draw.number()) } else { table.revision() },
            opened: draw.maybe(|draw| Revision(draw.number())).filter(|_| draw.below(4) == 0),
            names: names(draw),
            mode: mode(draw),
            queue: !draw.flag(),
            priority: draw.of(&[0, 1, -1]),
            metadata: labels(draw),
            min_hold: draw.maybe(Draw::millis).unwrap_or_default(),
        }),
    }
}

/// Releases a hold.
fn release(draw: &mut Draw<'_>, table: &Table) -> Command {
    let found = table.claim(claim(draw, table)).filter(|claim| claim.token().is_some());
    let Some(claim) = found else { return Command::CloseSession { session: session(draw) } };
    let (session, name) = (claim.spec.session.clone(), claim.spec.names[0].clone());
    Command::Release { session, name, token: claim.token().unwrap_or_default() }
}

fn group(draw: &mut Draw<'_>, table: &Table) -> GroupCommand {
    let group = Text::from(draw.of(&GROUPS));
    let found = table.group(&group);
    match draw.below(4) {
        0 => GroupCommand::Join {
            group,
            session: session(draw),
            opening: draw.maybe(opening),
            home: home(draw),
            opened: None,
            metadata: labels(draw),
        },
        1 => {
            let member = draw.maybe(|draw| Revision(draw.number()));
            GroupCommand::Leave { group, session: session(draw), member }
        }
        2 => {
            let revision = found.map_or(Revision(0), |group| group.config_revision());
            let expected = draw.maybe(|draw| if draw.flag() { revision } else { Revision(draw.number()) });
            GroupCommand::Configure { group, config: draw.maybe(|draw| draw.of(&["", "x", "{\n}"]).into()), expected }
        }
        _ => {
            let (membership, config) =
                found.map_or((Revision(0), Revision(0)), |group| (group.membership, group.config_revision()));
            let leader = found.and_then(|group| group.leader());
            let token = found.and_then(|group| group.lead).map_or(Revision(draw.number()), |lead| lead.token);
            let members = found.into_iter().flat_map(|group| group.members.keys().copied());
            let assignments = members.map(|member| (member, draw.of(&["", "left", "right"]).into())).collect();
            GroupCommand::Assign {
                group,
                session: leader.map_or_else(|| session(draw), |leader| leader.spec.session.clone()),
                token,
                basis: Basis { membership, config: if draw.below(8) == 0 { Revision(1) } else { config } },
                assignments: Arc::new(assignments),
            }
        }
    }
}

fn session(draw: &mut Draw<'_>) -> Text {
    draw.of(&SESSIONS).into()
}

fn name(draw: &mut Draw<'_>) -> Text {
    draw.of(&LOCKS).into()
}

/// At least one name, sorted.
fn names(draw: &mut Draw<'_>) -> Names {
    let bits = draw.byte();
    let named = LOCKS.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0);
    match named.map(|(_, name)| Text::from(*name)).collect::<Vec<_>>() {
        none if none.is_empty() => Text::from(LOCKS[0]).into(),
        some => some.into(),
    }
}

fn home(draw: &mut Draw<'_>) -> ServerId {
    ServerId(draw.of(&[1, 2, 3]))
}

fn mode(draw: &mut Draw<'_>) -> AskedMode {
    match draw.below(4) {
        0 | 1 => AskedMode::Exclusive,
        2 => AskedMode::Shared,
        _ => {
            let limit = draw.of(&[None, Some(2), Some(3), Some(1_000_000)]);
            AskedMode::Permits { permits: draw.of(&[1, 2, 3]).min(limit.unwrap_or(3)), limit }
        }
    }
}

fn opening(draw: &mut Draw<'_>) -> Opening {
    Opening {
        ttl: Duration::from_millis(20) + draw.millis(),
        owner: draw.of(&["", "owner", "\t\u{2028}"]).into(),
        metadata: labels(draw),
        identity: None,
    }
}

fn labels(draw: &mut Draw<'_>) -> Metadata {
    match draw.below(4) {
        0 => Arc::new(BTreeMap::from([("key\"".to_owned(), draw.of(&["", "value\n"]).to_owned())])),
        _ => no_labels(),
    }
}

fn operator(draw: &mut Draw<'_>) -> Eviction {
    Eviction { operator: "eve".into(), note: draw.of(&["", "why"]).into() }
}

/// An existing claim, or a missing one.
fn claim(draw: &mut Draw<'_>, table: &Table) -> Revision {
    let index = draw.below(16);
    table.claims().nth(index).map_or(Revision(index as u64), |claim| claim.id)
}

/// A valid token, or an invalid one.
fn token(draw: &mut Draw<'_>, table: &Table) -> Revision {
    let index = draw.below(16);
    table.claims().filter_map(Claim::token).nth(index).unwrap_or(Revision(index as u64))
}
