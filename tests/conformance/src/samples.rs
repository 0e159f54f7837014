//! Sample batches, sessions and claims.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Claim, ClaimSpec, ClaimState, EndReason, Event, Eviction, Recorded, Revision, ServerId, Session, SessionSpec, Text,
};
use tenure_server::store::{Batch, RowChanges};

/// The namespace that most behaviours are tried in.
pub(crate) const NAMESPACE: &str = "default";

/// Names that are all different, however much some databases would like to think otherwise.
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

/// A session, opened by the event of this revision.
pub(crate) fn session(opened: u64, id: &str) -> Session {
    let spec = SessionSpec {
        id: id.into(),
        ttl: Duration::from_millis(1200 + opened % 7),
        disconnect_grace: (!opened.is_multiple_of(3)).then(|| Duration::from_millis(300 + opened % 5)),
        owner: format!("owner of {id}").into(),
        metadata: Arc::new(BTreeMap::from([("key \"k\"".to_owned(), format!("värde {id}\\\n\t'"))])),
        home: ServerId(opened % 3 + 1),
    };
    Session { spec, opened: Revision(opened), claims: BTreeMap::new() }
}

/// What a claim is made with.
pub(crate) fn claim_spec(session: &Session, names: &[&str]) -> Arc<ClaimSpec> {
    let mut names: Vec<Text> = names.iter().map(|name| Text::from(*name)).collect();
    names.sort();
    Arc::new(ClaimSpec {
        session: session.spec.id.clone(),
        opened: session.opened,
        owner: session.spec.owner.clone(),
        names,
        priority: i32::try_from(session.opened.0 % 5).unwrap_or_default() - 2,
        metadata: session.spec.metadata.clone(),
        min_hold: Duration::from_millis(session.opened.0 % 2 * 250),
    })
}

/// A claim.
pub(crate) fn claim(id: u64, spec: &Arc<ClaimSpec>, state: ClaimState) -> Claim {
    Claim { id: Revision(id), spec: spec.clone(), state }
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

/// A batch of `count` events of no consequence.
pub(crate) fn filler(namespace: &str, previous: u64, count: u64) -> Batch {
    let event = |number| Event::ServerAdopted { dead: ServerId(number), by: ServerId(number + 1) };
    batch(namespace, previous, (previous + 1..=previous + count).map(event).collect())
}

/// Batches of these sizes, one after the other, from the beginning.
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

/// Row changes that change nothing but where the rows are.
pub(crate) fn no_changes(from: u64, to: u64) -> RowChanges {
    RowChanges { from: Revision(from), to: Revision(to), ..RowChanges::default() }
}

/// One event of each kind and then some, with nasty text.
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
    events.push(Event::SessionAttached {
        session: "s".into(),
        opened: Revision(1),
        home: ServerId(i64::MAX as u64),
        ttl: Duration::from_secs(86_400),
        disconnect_grace: None,
    });
    events.push(Event::SessionAttached {
        session: "s".into(),
        opened: Revision(1),
        home: ServerId(1),
        ttl: Duration::from_secs(86_400),
        disconnect_grace: Some(Duration::from_secs(86_400)),
    });
    for reason in EndReason::ALL {
        let eviction = Some(Eviction { operator: names[0].clone(), note: "".into() });
        events.push(Event::ClaimLingering { claim, token, spec: spec.clone(), reason, home: ServerId(9) });
        events.push(Event::ClaimEnded { claim, token: Some(token), spec: spec.clone(), reason, eviction });
        events.push(Event::ClaimEnded { claim, token: None, spec: spec.clone(), reason, eviction: None });
        events.push(Event::SessionEnded { session: "s".into(), opened: Revision(1), reason });
    }
    events.push(Event::ServerAdopted { dead: ServerId(1), by: ServerId(2) });
    events.push(Event::HistoryLost { after: Revision(5) });
    events
}
