//! Cost that the sequencer adds to the core: commands from their queue to their outcomes, with a store in memory.

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use opentelemetry::Context;
use tenure_core::testing::{self, Build, acquire, release};
use tenure_core::{Command, Outcome, Revision, ServerId};
use tenure_server::cluster::clock::BootClock;
use tenure_server::node::heartbeat::Heartbeats;
use tenure_server::node::{Node, NodeOptions};
use tenure_server::sequencer::{Namespace, StreamReplies, StreamReplySender, Tag};
use tenure_server::store::MemoryDatabase;
use tenure_server::telemetry::metrics::Metrics;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

/// A server whose only client acquires many locks at once, in one session.
struct Bench {
    runtime: Runtime,
    namespace: Namespace,
    home: ServerId,
    outcomes: (StreamReplySender, UnboundedReceiver<StreamReplies>),
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
            let open = testing::open("s").ttl(Duration::from_secs(3_600)).at(node.id);
            namespace.decide(open).await.expect("opened");
            (namespace, node.id)
        });
        Self { runtime, namespace, home, outcomes: unbounded() }
    }

    fn acquire(&self, name: usize) -> Command {
        acquire("s", format!("lock/{name}")).in_open_session().queue(false).at(self.home)
    }

    /// Executes commands together, and returns the tokens of those that were granted.
    fn carry_out(&mut self, commands: impl Iterator<Item = Command>) -> Vec<Revision> {
        let commands =
            commands.zip(1..).map(|(command, id)| (Tag { id, count: id }, command.into(), Context::new())).collect();
        let (namespace, outcomes) = (&self.namespace, &mut self.outcomes);
        let decided = self.runtime.block_on(async {
            namespace.decide_all(commands, &outcomes.0).await.expect("running");
            outcomes.1.next().await.expect("running")
        });
        let mut tokens = Vec::new();
        let mut granted = Vec::new();
        for (_, reply) in decided.replies {
            let result = reply.expect("allowed");
            if let Outcome::Held { claim, .. } = &result.outcome {
                tokens.extend(claim.token());
            }
            granted.extend(result.pending);
        }
        self.namespace.acknowledge(granted);
        tokens
    }
}

/// Acquires a number of locks at once, and then releases them at once; each acquire and release counts as an item.
#[divan::bench(args = [1, 16, 256])]
fn acquire_and_release(bencher: Bencher, locks: usize) {
    let mut bench = Bench::start();
    bencher.counter(ItemsCount::new(2 * locks)).bench_local(|| {
        let acquires: Vec<Command> = (0..locks).map(|name| bench.acquire(name)).collect();
        let tokens = bench.carry_out(acquires.into_iter());
        let releases = tokens.into_iter().enumerate().map(|(name, token)| release("s", format!("lock/{name}"), token));
        bench.carry_out(releases)
    });
}
