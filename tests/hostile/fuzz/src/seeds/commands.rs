//! Commands to the core, as [`changes`] draws them, the log and the rows that result, and batches between servers.

use prost::Message;
use tenure_core::{Event, Recorded, Revision, Table};
use tenure_proto::internal as proto;
use tenure_server::store::{encode_events, fuzzing};

use super::Seed;
use crate::changes;
use crate::draw::Draw;
use crate::rows::{SEPARATOR, rows_of};

// Sessions by their index, and locks by their bit.
const ANN: u8 = 0;
const BOB: u8 = 1;
const CID: u8 = 2;
const A: u8 = 1;
const B: u8 = 2;
const ODD: u8 = 8;

// The caller is not identified, and an option is absent or false.
const UNIDENTIFIED: u8 = 1;
const NONE: u8 = 0;
const SOME: u8 = 1;

// The kinds of commands.
const OPEN: u8 = 0;
const MOVE: u8 = 1;
const CLOSE: u8 = 2;
const END: u8 = 3;
const CANCEL: u8 = 4;
const END_WAIT: u8 = 6;
const ABANDON: u8 = 7;
const RELEASE: u8 = 10;
const END_LINGERING: u8 = 12;
const EVICT: u8 = 13;
const UPDATE: u8 = 14;
const TRANSFER: u8 = 15;
const PREEMPT: u8 = 17;
const END_TRANSFER: u8 = 18;
const CONFIGURE: u8 = 19;
const ADOPT: u8 = 20;
const GROUP: u8 = 21;
const ACQUIRE: u8 = 25;
const CLIENT: u8 = 32;

// The kinds of commands of a client.
const CONNECT: u8 = 0;
const END_CLIENT: u8 = 3;
const CHANGE: u8 = 4;

// The clients by their index, and their changes.
const MIA: u8 = 0;
const DECLARE: u8 = 1;
const WITHDRAW: u8 = 0;

/// A new session with a claim and a membership: numbers 1 to 3.
const DECLARATION: [u8; 19] = [0, SOME, ANN, NONE, 49, 0, 1, 1, 0, A, 0, 0, 0, 1, NONE, 1, 0, 0, 1];

const EXCLUSIVE: &[u8] = &[0];
const SHARED: &[u8] = &[2];
/// Two permits out of three.
const PERMITS: &[u8] = &[3, 2, 1];

/// A TTL of a second, no owner, no labels.
const OPENING: [u8; 3] = [49, 0, 1];

pub(super) fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, commands) in scenarios() {
        let (table, log) = replay(name, &commands);
        let committed = commands.iter().flat_map(|command| [&[0], &command[..]].concat());
        seeds.push(("core", name, committed.collect()));
        seeds.push(("events", name, encode_events(&log).into_bytes()));
        seeds.push(("rows", name, fuzzing::pages(&rows_of(&table)).join(SEPARATOR).into_bytes()));
        // The last two are the batch.
        let (first, last) = commands.split_at(commands.len() - 2);
        seeds.push(("peers", name, [&[b'!', count(first)], &first.concat()[..], &[2], &last.concat()].concat()));
    }
    let (name, commands) = &scenarios()[0];
    let undone = commands.iter().flat_map(|command| [&[7], &command[..], &[0], command].concat());
    seeds.push(("core", "each-command-undone-once", undone.collect()));
    let drawn = [&[b'!', count(commands)], &commands.concat()[..]].concat();
    seeds.push(("events", "drawn", drawn.clone()));
    seeds.push(("rows", "drawn", drawn));
    let lost = Recorded { revision: Revision(3), event: Event::HistoryLost { after: Revision(2) } };
    seeds.push(("events", "history-lost", encode_events(&[lost]).into_bytes()));
    seeds.push(("peers", "batch-of-grants", batch(&replay(name, commands).1)));
    seeds
}

/// The result of the commands. Each is drawn from exactly its bytes, and accepted unless its scenario is about
/// rejections.
fn replay(name: &str, commands: &[Vec<u8>]) -> (Table, Vec<Recorded>) {
    const NEXT: u8 = 255;
    let (mut table, mut log) = (Table::default(), Vec::new());
    for (index, bytes) in commands.iter().enumerate() {
        let followed = [&bytes[..], &[NEXT]].concat();
        let mut draw = Draw::new(&followed);
        let command = changes::request(&mut draw, &table);
        assert_eq!(draw.rest(), [NEXT], "{name}: {command:?}");
        let before = log.len();
        let outcome = table.decide(command.clone(), &mut log);
        table.commit();
        let is_rejected = name == "limits-reject" && index > 0;
        assert_eq!(
            (outcome.is_err(), log.len() == before),
            (is_rejected, is_rejected),
            "{name}: {command:?}: {outcome:?}"
        );
    }
    (table, log)
}

/// The message of a server that has committed these events.
fn batch(events: &[Recorded]) -> Vec<u8> {
    let batch = proto::Batch { previous: 0, number: 2, at_ms: 1_000, events: encode_events(events).into() };
    let at = events.last().map_or(0, |last| last.revision.0);
    let notice = proto::ForwardResponse { batch: Some(batch), at, rows: 1, ..proto::ForwardResponse::default() };
    [b"?", &notice.encode_to_vec()[..]].concat()
}

fn count(commands: &[Vec<u8>]) -> u8 {
    u8::try_from(commands.len()).expect("few")
}

/// Sequences of commands, each from an empty table.
fn scenarios() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let (acquire, queued) = (Acquire::default(), Acquire { session: BOB, ..Acquire::default() });
    let odd = Acquire { names: ODD, labels: &[0, 1], ..acquire };
    let shared = Acquire { names: A | B, mode: SHARED, ..acquire };
    let preemptible = Acquire { priority: 2, ..acquire };
    let permits = Acquire { mode: PERMITS, ..acquire };
    vec![
        (
            "acquire-two-names-shared",
            vec![
                shared.command(),
                Acquire { names: A, session: BOB, ..shared }.command(),
                Acquire { names: B, session: CID, ..acquire }.command(),
                release(0),
                release(0),
            ],
        ),
        (
            "queue-by-priority",
            vec![
                acquire.command(),
                queued.command(),
                Acquire { session: CID, priority: 1, ..acquire }.command(),
                release(0),
            ],
        ),
        (
            "permits-out-of-a-limit",
            vec![
                // The limit of `a` is three, which exceeds the caller's; its claim is labelled afterwards.
                vec![UNIDENTIFIED, CONFIGURE, 0, SOME, 3, NONE, 0],
                permits.command(),
                Acquire { session: BOB, ..permits }.command(),
                vec![UNIDENTIFIED, UPDATE, ANN, 0, 0, 0, 1],
                release(0),
            ],
        ),
        (
            "min-hold-lingers",
            vec![
                Acquire { min_hold: &[SOME, 50], ..acquire }.command(),
                queued.command(),
                release(0),
                vec![UNIDENTIFIED, END_LINGERING, 0, 0],
            ],
        ),
        (
            "transfer-cancelled-then-by-holder",
            vec![
                acquire.command(),
                queued.command(),
                vec![UNIDENTIFIED, TRANSFER, 0, SOME, 0, SOME, BOB, 0, 1, 50],
                vec![UNIDENTIFIED, END_TRANSFER, 0, 0, 0],
                vec![UNIDENTIFIED, TRANSFER, 0, SOME, 0, SOME, BOB, 1, ANN],
            ],
        ),
        (
            "preempt-then-evict",
            vec![
                vec![UNIDENTIFIED, CONFIGURE, 0, NONE, SOME, 5, 5, 1],
                preemptible.command(),
                Acquire { priority: 1, ..queued }.command(),
                vec![UNIDENTIFIED, PREEMPT, 1, 0],
                vec![UNIDENTIFIED, EVICT, 0, SOME, 0, 1],
            ],
        ),
        (
            "sessions-expire-and-close",
            vec![
                vec![UNIDENTIFIED, OPEN, ANN, 49, 1, 0, 1, 0],
                acquire.command(),
                queued.command(),
                vec![UNIDENTIFIED, END, ANN, 0, 0, 0],
                vec![UNIDENTIFIED, CLOSE, BOB],
            ],
        ),
        (
            "waits-cancelled-and-ended",
            vec![
                acquire.command(),
                queued.command(),
                vec![UNIDENTIFIED, CANCEL, BOB, A],
                queued.command(),
                vec![UNIDENTIFIED, END_WAIT, 1, 0],
                vec![UNIDENTIFIED, ABANDON, 0, 0, 0],
            ],
        ),
        (
            "group-joined-configured-assigned-left",
            vec![
                join(ANN),
                join(BOB),
                vec![UNIDENTIFIED, GROUP, 0, 2, NONE, SOME, 1],
                vec![UNIDENTIFIED, GROUP, 0, 3, 0, 1, 2, 1],
                vec![UNIDENTIFIED, GROUP, 0, 1, NONE, ANN],
            ],
        ),
        ("server-adopted", vec![acquire.command(), vec![UNIDENTIFIED, ADOPT, 0, 1], vec![UNIDENTIFIED, MOVE, ANN, 2]]),
        (
            "client-declares-reconnects-withdraws-ends",
            vec![
                vec![UNIDENTIFIED, CLIENT, MIA, CONNECT, 0, 0, NONE, 0],
                [&[UNIDENTIFIED, CLIENT, MIA, CHANGE, 0, 0, DECLARE], &DECLARATION[..]].concat(),
                // By a higher epoch, with the session, the claim and the membership, to another server.
                vec![UNIDENTIFIED, CLIENT, MIA, CONNECT, 0, 1, 0, 0, 0, NONE, 0],
                vec![UNIDENTIFIED, ADOPT, 1, 2],
                vec![UNIDENTIFIED, CLIENT, MIA, CHANGE, 0, 1, WITHDRAW, 1, WITHDRAW, 0],
                vec![UNIDENTIFIED, CLIENT, MIA, END_CLIENT, 0],
            ],
        ),
        (
            "limits-reject",
            vec![
                limited(&acquire.command()),
                limited(&Acquire { names: B, ..acquire }.command()),
                limited(&queued.command()),
            ],
        ),
        ("odd-names-and-labels", vec![odd.command(), Acquire { session: BOB, ..odd }.command(), release(0)]),
    ]
}

#[derive(Clone, Copy)]
struct Acquire {
    session: u8,
    names: u8,
    mode: &'static [u8],
    priority: u8,
    labels: &'static [u8],
    min_hold: &'static [u8],
}

impl Default for Acquire {
    fn default() -> Self {
        Self { session: ANN, names: A, mode: EXCLUSIVE, priority: 0, labels: &[1], min_hold: &[NONE] }
    }
}

impl Acquire {
    /// Opens the session at server 1, and waits if necessary.
    fn command(&self) -> Vec<u8> {
        let opening = [&[UNIDENTIFIED, ACQUIRE, self.session, SOME], &OPENING[..]].concat();
        let what = [&[0, 0, NONE, self.names], self.mode, &[0, self.priority]].concat();
        [&opening, &what, self.labels, self.min_hold].concat()
    }
}

/// By an identity that may have one session, one claim, no waiters, and any number of memberships.
fn limited(command: &[u8]) -> Vec<u8> {
    [&[0, 0, SOME, 1, SOME, 1, SOME, 0, NONE], &command[1..]].concat()
}

/// Releases a hold, by the index of its claim.
fn release(claim: u8) -> Vec<u8> {
    vec![UNIDENTIFIED, RELEASE, claim]
}

fn join(session: u8) -> Vec<u8> {
    [&[UNIDENTIFIED, GROUP, 0, 0, session, SOME], &OPENING[..], &[0, 0, 1]].concat()
}
