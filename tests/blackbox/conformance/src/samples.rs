//! Sample batches, sessions and claims.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::testing;
use tenure_core::{
    Assigned, Basis, Claim, ClaimSpec, ClaimState, Client, Config, EndReason, Event, Eviction, Group, GroupChange,
    Lead, LockSettings, Member, MemberSpec, Mode, Preempt, Recorded, Revision, ServerId, Session, SessionSpec, Text,
    Transfer,
};
use tenure_server::store::{Batch, RowChanges};

/// The namespace of most tests.
pub(crate) const NAMESPACE: &str = "default";

/// Names that are all distinct, although some databases would consider some of them equal.
pub(crate) fn nasty_names() -> Vec<Text> {
    let mut names = vec![
        "lock".to_owned(),
        "Lock".to_owned(),
        "LOCK".to_owned(),
        "lock ".to_owned(),
        "lock  ".to_owned(),
        " lock".to_owned(),
        "lóck".to_owned(),
        "lo\u{301}ck".to_owned(),
        "straße".to_owned(),
        "strasse".to_owned(),
        "İstanbul".to_owned(),
        "istanbul".to_owned(),
        "ﬁle".to_owned(),
        "file".to_owned(),
        "잠금".to_owned(),
        "\u{1105}\u{1161}".to_owned(),
        "라".to_owned(),
        "👩‍👩‍👧‍👦".to_owned(),
        "👩".to_owned(),
        "'; DROP TABLE claims; --".to_owned(),
        "\"quoted\"".to_owned(),
        "back\\slash".to_owned(),
        "back\\'slash".to_owned(),
        "100%_done".to_owned(),
        "$1 ? :name".to_owned(),
        "null".to_owned(),
        "\u{200b}".to_owned(),
        "\u{10ffff}".to_owned(),
        "é".repeat(127) + "e",
    ];
    names.sort();
    names.into_iter().map(Text::from).collect()
}

/// A client, with a part of its values selected by the number.
pub(crate) fn client(number: u64, id: &str) -> Client {
    let identity = number.is_multiple_of(2).then(|| format!("cert:spiffe://värde/{id}").into());
    Client { last: number * 3, ..Client::new(id.into(), number, ServerId(number % 3 + 1), identity) }
}

/// A session, opened by the event of this revision. Some are declared by a client.
pub(crate) fn session(opened: u64, id: &str) -> Session {
    let spec = SessionSpec {
        id: id.into(),
        ttl: Duration::from_millis(1200 + opened % 7),
        disconnect_grace: (!opened.is_multiple_of(3)).then(|| Duration::from_millis(300 + opened % 5)),
        owner: format!("owner of {id}").into(),
        metadata: Arc::new(BTreeMap::from([("key \"k\"".to_owned(), format!("värde {id}\\\n\t'"))])),
        home: ServerId(opened % 3 + 1),
        identity: (!opened.is_multiple_of(2)).then(|| format!("cert:spiffe://värde/{id}").into()),
        client: opened.is_multiple_of(3).then(|| format!("prográm of {id}").into()),
        declared: if opened.is_multiple_of(3) { opened } else { 0 },
    };
    Session::new(spec, Revision(opened))
}

/// A claim's spec.
pub(crate) fn claim_spec(session: &Session, names: &[&str]) -> Arc<ClaimSpec> {
    let mut names: Vec<Text> = names.iter().map(|name| Text::from(*name)).collect();
    names.sort();
    Arc::new(ClaimSpec {
        session: session.spec.id.clone(),
        opened: session.opened,
        owner: session.spec.owner.clone(),
        names: names.into(),
        mode: mode(session.opened.0),
        priority: i32::try_from(session.opened.0 % 5).unwrap_or_default() - 2,
        metadata: session.spec.metadata.clone(),
        min_hold: (session.opened.0 % 2 * 250).into(),
        waiting_server: session.opened.0.is_multiple_of(3).then_some(session.spec.home),
        declared: declared_in(session),
    })
}

/// A mode, selected by the number.
fn mode(number: u64) -> Mode {
    match number % 3 {
        0 => Mode::Exclusive,
        1 => Mode::Shared,
        _ => Mode::Permits { permits: 3, limit: u32::MAX },
    }
}

/// A setting of a lock, or none, selected by the number.
pub(crate) fn settings(number: u64) -> LockSettings {
    let preempt = Preempt { settling: Duration::ZERO, drain: Duration::from_millis(number) };
    LockSettings {
        limit: number.is_multiple_of(2).then_some(u32::try_from(number).unwrap_or(u32::MAX)),
        preempt: number.is_multiple_of(3).then_some(preempt),
    }
}

/// A claim whose holder was asked to hand over.
pub(crate) fn handing_over(claim: &Claim, to: Option<Revision>) -> Claim {
    let transfer = Transfer { to, started: Revision(claim.id.0 + 7), drain: Duration::from_millis(1500) };
    Claim { transfer: Some(Box::new(transfer)), ..claim.clone() }
}

/// An operator's eviction.
pub(crate) fn operator() -> Eviction {
    Eviction { operator: nasty_names()[0].clone(), note: "".into() }
}

/// A claim.
pub(crate) fn claim(id: u64, spec: &Arc<ClaimSpec>, state: ClaimState) -> Claim {
    Claim::new(Revision(id), spec.clone(), state)
}

/// A membership's spec.
pub(crate) fn member_spec(session: &Session) -> Arc<MemberSpec> {
    Arc::new(MemberSpec {
        session: session.spec.id.clone(),
        opened: session.opened,
        owner: session.spec.owner.clone(),
        metadata: session.spec.metadata.clone(),
        declared: declared_in(session),
    })
}

/// The number of an item of a session: 0 unless the session is declared.
fn declared_in(session: &Session) -> u64 {
    if session.spec.declared > 0 { session.spec.declared + 1 } else { 0 }
}

/// A group with this number of members, every second of which has an assignment. Every second group has a config.
pub(crate) fn group(id: u64, name: &str, members: u64) -> Arc<Group> {
    let member = |number: u64| Member {
        number: Revision(number),
        spec: member_spec(&session(number, &format!("{name} {number}"))),
        assignment: number.is_multiple_of(2).then(|| format!("{name}\n\"{number}\"\\'").into()),
    };
    let numbers = id..id + members;
    Arc::new(Group {
        id: Revision(id),
        name: name.into(),
        members: numbers.clone().map(|number| (Revision(number), member(number))).collect(),
        lead: numbers.clone().next().map(|first| Lead { member: Revision(first), token: Revision(first + 1) }),
        membership: Revision(numbers.end - 1),
        config: (id.is_multiple_of(2) || members == 0)
            .then(|| Config { value: format!("{{\"of\": '{name}'}}").into(), revision: Revision(id + 7) }),
        assigned: (members > 1).then(|| Assigned {
            revision: Revision(id + 9),
            basis: Basis { membership: Revision(id + 1), config: Revision(id % 2) },
        }),
    })
}

/// A batch of these events.
pub(crate) fn batch(namespace: &str, previous: u64, events: Vec<Event>) -> Batch {
    let events = events
        .into_iter()
        .zip(previous + 1..)
        .map(|(event, revision)| Recorded { revision: Revision(revision), event })
        .collect();
    Batch {
        namespace: namespace.into(),
        previous: Revision(previous),
        events,
        server: ServerId(7),
        number: previous + 1,
        at_ms: 1_700_000_000_000 + i64::try_from(previous).unwrap_or_default(),
    }
}

/// A batch of `count` irrelevant events.
pub(crate) fn filler(namespace: &str, previous: u64, count: u64) -> Batch {
    batch(namespace, previous, (previous + 1..=previous + count).map(testing::filler).collect())
}

/// Consecutive batches of these sizes, from the beginning.
pub(crate) fn fillers(namespace: &str, sizes: &[u64]) -> Vec<Batch> {
    let mut previous = 0;
    let mut batches = Vec::new();
    for size in sizes {
        batches.push(filler(namespace, previous, *size));
        previous += size;
    }
    batches
}

/// The batch that declares the history after `previous` lost, and jumps to `revision`.
pub(crate) fn loss(namespace: &str, previous: u64, revision: u64) -> Batch {
    let event = Event::HistoryLost { after: Revision(previous) };
    Batch { events: vec![Recorded { revision: Revision(revision), event }], ..batch(namespace, previous, Vec::new()) }
}

/// Row changes that only advance the rows' revision.
pub(crate) fn no_changes(from: u64, to: u64) -> RowChanges {
    RowChanges { from: Revision(from), to: Revision(to), ..RowChanges::default() }
}

/// At least one event of each kind, with unusual text.
pub(crate) fn every_event() -> Vec<Event> {
    let names = nasty_names();
    let mut events = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let owner = Session {
            spec: SessionSpec { owner: name.clone(), ..session(number as u64 + 1, name).spec },
            ..session(number as u64 + 1, name)
        };
        events.push(Event::SessionOpened(Arc::new(owner.spec.clone())));
        let spec = claim_spec(&owner, &[name, "shared with others"]);
        events.push(Event::ClaimQueued(spec.clone()));
        events.push(Event::ClaimGranted { claim: Revision(3), spec });
        let Client { id, epoch, home, identity, .. } = client(number as u64, name);
        events.push(Event::ClientConnected { client: id.clone(), epoch, home, identity });
        events.push(Event::ClientEnded { client: id });
    }
    let empty = Session {
        spec: SessionSpec {
            owner: "".into(),
            metadata: Arc::default(),
            ttl: Duration::ZERO,
            disconnect_grace: None,
            ..session(1, "s").spec
        },
        ..session(1, "s")
    };
    let all: Vec<&str> = names.iter().map(|name| &**name).collect();
    let spec = claim_spec(&empty, &all);
    let (claim, token) = (Revision(2), Revision(1 << 62));
    events.push(Event::SessionOpened(Arc::new(empty.spec)));
    events.push(Event::SessionMoved {
        session: "s".into(),
        opened: Revision(1),
        home: ServerId(i64::MAX as u64),
        ttl: Duration::from_secs(86_400),
    });
    for reason in EndReason::ALL {
        let (eviction, still_held) = (Some(operator()), spec.names.to_vec());
        let (home, spec, longest_pause) = (ServerId(9), spec.clone(), Some(Duration::from_millis(1_234)));
        let lingering =
            Event::ClaimLingering { claim, token, spec: spec.clone(), reason, home, still_held, longest_pause };
        events.push(lingering);
        let (still_held, longest_pause) = (Vec::new(), Some(Duration::ZERO));
        let lasted = Some(token);
        let held =
            Event::ClaimEnded { claim, token: lasted, spec: spec.clone(), reason, eviction, still_held, longest_pause };
        events.push(held);
        let (eviction, still_held, longest_pause) = (None, vec![names[1].clone()], None);
        events.push(Event::ClaimEnded { claim, token: None, spec, reason, eviction, still_held, longest_pause });
        events.push(Event::SessionEnded { session: "s".into(), opened: Revision(1), reason });
    }
    events.push(Event::ClaimUpdated { claim, token, spec: spec.clone() });
    events.extend([None, Some(ServerId(1 << 62))].map(|at| Event::ClaimAwaited { claim, at }));
    events.push(Event::AcquireCancelled { session: names[3].clone(), names: spec.names.clone() });
    let drain = Duration::from_millis(100);
    for (to, by) in [(None, None), (Some(Revision(1 << 40)), Some(operator()))] {
        let to_session = to.map(|_| names[3].clone());
        events.push(Event::TransferStarted { claim, token, spec: spec.clone(), to, to_session, drain, by });
    }
    events.push(Event::TransferCancelled { claim, token, spec: spec.clone() });
    for still_held in [Vec::new(), spec.names.to_vec()] {
        let (from, from_token, from_spec) = (claim, token, spec.clone());
        let longest_pause = (!still_held.is_empty()).then_some(Duration::from_secs(7));
        let (claim, spec) = (Revision(3), claim_spec(&session(5, "next"), &all));
        events.push(Event::ClaimTransferred { from, from_token, from_spec, still_held, longest_pause, claim, spec });
    }
    for number in 0..6 {
        events.push(Event::LockConfigured { name: names[2].clone(), settings: settings(number), by: operator() });
    }
    events.extend(every_change());
    events.push(Event::ServerAdopted { dead: ServerId(1), by: ServerId(2) });
    events.push(Event::ForwardsVoided { by: ServerId(3) });
    events.push(Event::HistoryLost { after: Revision(5) });
    events
}

/// At least one event of each kind of group change, with unusual text.
fn every_change() -> Vec<Event> {
    let names = nasty_names();
    let lead = Lead { member: Revision(3), token: Revision(1 << 62) };
    let mut changes = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let member = session(number as u64 + 1, name);
        changes.push(GroupChange::Joined { spec: member_spec(&member), lead });
        changes.push(GroupChange::Left {
            member: Revision(number as u64 + 1),
            session: name.clone(),
            opened: member.opened,
            owner: member.spec.owner,
            reason: EndReason::ALL[number % EndReason::ALL.len()],
            declared: member.spec.declared,
            lead: (!number.is_multiple_of(2)).then_some(lead),
        });
        changes.push(GroupChange::Configured { config: Some(name.clone()) });
    }
    let assignments = names.iter().zip(1..).map(|(name, number)| (Revision(number), name.clone())).collect();
    let basis = Basis { membership: Revision(7), config: Revision(0) };
    changes.push(GroupChange::Assigned { lead, basis, assignments: Arc::new(assignments) });
    changes.push(GroupChange::Configured { config: Some("".into()) });
    changes.push(GroupChange::Configured { config: None });
    let event = |(change, name): (GroupChange, &Text)| Event::Group { id: Revision(2), group: name.clone(), change };
    changes.into_iter().zip(names.iter().cycle()).map(event).collect()
}
