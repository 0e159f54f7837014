//! Cost that the sequencer adds to the core: commands from their queue to their outcomes, with a store in memory.

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use opentelemetry::Context;
use tenure_core::testing::{Build, connect, declaration, declared_claim};
use tenure_core::{Change, Command, Outcome, Revision, ServerId};
use tenure_server::cluster::clock::BootClock;
use tenure_server::node::heartbeat::Heartbeats;
use tenure_server::node::{Node, NodeOptions};
use tenure_server::sequencer::{Namespace, Replies, ReplySender, Tag};
use tenure_server::store::MemoryDatabase;
use tenure_server::telemetry::metrics::Metrics;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

/// The client, the epoch of its stream, and the number of its session.
const CLIENT: &str = "client";
const EPOCH: u64 = 1;
const SESSION: u64 = 1;

/// A server whose only client declares many claims at once, in one session.
struct Bench {
    runtime: Runtime,
    namespace: Namespace,
    home: ServerId,
    outcomes: (ReplySender, UnboundedReceiver<Replies>),
    /// The last number that the client has used.
    last: u64,
}

impl Bench {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (namespace, home) = runtime.block_on(async {
            let options = NodeOptions {
                lease: Duration::from_secs(10),
                label: "bench".to_owned(),
                address: String::new(),
                certificate: String::new(),
                reattach: Duration::from_secs(5),
                poll_interval: Duration::from_millis(20),
                max_namespaces: 1,
                history_retention: Duration::from_secs(3_600),
                history_max_bytes: 1 << 30,
            };
            let store = MemoryDatabase::default().server();
            let node =
                Node::new(options, store, Arc::new(BootClock), None, Metrics::default(), CancellationToken::new());
            let heartbeats = Heartbeats::begin(node.clone()).await.expect("registered");
            tokio::spawn(heartbeats.run());
            let namespace = node.namespaces.get("bench").await.expect("open");
            let session = declaration(SESSION).opens("s");
            namespace.decide(connect(CLIENT, EPOCH).declared(vec![session]).at(node.id)).await.expect("connected");
            (namespace, node.id)
        });
        Self { runtime, namespace, home, outcomes: unbounded(), last: SESSION }
    }

    /// Makes these changes together, each by a command of its own.
    fn carry_out(&mut self, changes: impl Iterator<Item = Change>) {
        let command = |change| Command::Change {
            client: CLIENT.into(),
            epoch: EPOCH,
            home: self.home,
            connected: Revision::MAX,
            changes: vec![change],
        };
        let commands =
            changes.zip(1..).map(|(change, number)| (Tag(number), command(change).into(), Context::new())).collect();
        let (namespace, outcomes) = (&self.namespace, &mut self.outcomes);
        let replies = self.runtime.block_on(async {
            namespace.decide_all(commands, &outcomes.0).await.expect("running");
            outcomes.1.next().await.expect("running")
        });
        for (_, reply) in replies {
            match reply.expect("allowed").outcome {
                Outcome::Reconciled { absent, .. } => assert_eq!(absent, []),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Acquires a number of locks at once, and then releases them at once; each acquire and release counts as an item.
#[divan::bench(args = [1, 16, 256])]
fn acquire_and_release(bencher: Bencher, locks: u64) {
    let mut bench = Bench::start();
    bencher.counter(ItemsCount::new(2 * locks)).bench_local(|| {
        let numbers = bench.last + 1..=bench.last + locks;
        bench.last += locks;
        let claim = |number| declared_claim(number, format!("lock/{}", number % locks)).tries();
        bench.carry_out(numbers.clone().map(|number| Change::Declare(declaration(SESSION).claims(claim(number)))));
        bench.carry_out(numbers.map(Change::Withdraw));
    });
}
