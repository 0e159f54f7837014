//! Cost of a plain call, with all layers in front of its service: many at once, over TCP, with a store in memory.

use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use futures::future::join_all;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::{GetLockRequest, ListLocksRequest};
use tenure_server::auth::CredentialOptions;
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::MemoryDatabase;
use tenure_server::transport::ConnectionLimits;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

/// Number of concurrent calls.
const AT_ONCE: usize = 64;

fn main() {
    divan::main();
}

/// A server, and connections to it.
struct Bench {
    runtime: Runtime,
    clients: Vec<LockServiceClient<Channel>>,
    _server: Server,
}

impl Bench {
    fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let (server, clients) = runtime.block_on(async {
            let options = ServerOptions {
                listen: ([127, 0, 0, 1], 0).into(),
                tls: None,
                credentials: CredentialOptions::default(),
                connections: ConnectionLimits::default(),
                ttl: TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) },
                drain_timeout: Duration::from_secs(1),
                node: NodeOptions {
                    lease: Duration::from_secs(10),
                    label: "bench".to_owned(),
                    address: String::new(),
                    certificate: String::new(),
                    reattach: Duration::from_secs(5),
                    poll_interval: Duration::from_millis(20),
                    max_namespaces: 1,
                    history_retention: Duration::from_secs(3_600),
                    history_max_bytes: 1 << 30,
                },
            };
            let server = Server::start_with(options, MemoryDatabase::default().server()).await.expect("started");
            server.readiness().wait_for(|readiness| readiness.is_ready()).await.expect("ready");
            let mut clients = Vec::new();
            for _ in 0..4 {
                let endpoint = Endpoint::from_shared(format!("http://{}", server.grpc_address)).expect("an address");
                clients.push(LockServiceClient::new(endpoint.connect().await.expect("connected")));
            }
            (server, clients)
        });
        Self { runtime, clients, _server: server }
    }
}

/// Rejected before any work is done: what remains is the cost of transport and layers.
#[divan::bench(sample_count = 200)]
fn refused(bencher: Bencher) {
    let bench = Bench::start();
    bencher.counter(ItemsCount::new(AT_ONCE)).bench_local(|| {
        bench.runtime.block_on(join_all((0..AT_ONCE).map(|place| {
            let mut client = bench.clients[place % bench.clients.len()].clone();
            async move { client.get_lock(GetLockRequest::default()).await.expect_err("no name") }
        })))
    });
}

/// Handled by the sequencer.
#[divan::bench(sample_count = 200)]
fn answered(bencher: Bencher) {
    let bench = Bench::start();
    bencher.counter(ItemsCount::new(AT_ONCE)).bench_local(|| {
        bench.runtime.block_on(join_all((0..AT_ONCE).map(|place| {
            let mut client = bench.clients[place % bench.clients.len()].clone();
            async move { client.list_locks(ListLocksRequest::default()).await.expect("answered") }
        })))
    });
}
