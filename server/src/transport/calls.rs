//! gRPC server metrics with the names and labels of go-grpc-prometheus, so that existing dashboards work.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use foldhash::fast::FixedState;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;
use tonic::Code;

use crate::telemetry::metrics::Latencies;

/// The names of status codes, by number.
const CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

/// The label for methods that do not exist, whatever their path.
const UNKNOWN: &str = "unknown";

/// Which sides of a call send streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The client may send any number.
    pub(crate) client_streams: bool,
    /// The server may send any number.
    pub(crate) server_streams: bool,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match (self.client_streams, self.server_streams) {
            (false, false) => "unary",
            (true, false) => "client_stream",
            (false, true) => "server_stream",
            (true, true) => "bidi_stream",
        }
    }
}

/// A method and its counters.
struct Method {
    service: String,
    name: String,
    kind: Kind,
    started: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    handled: [AtomicU64; CODES.len()],
    times: Latencies,
}

impl Method {
    fn new(service: String, name: String, kind: Kind) -> Arc<Self> {
        let (started, received, sent, handled, times) = Default::default();
        Arc::new(Self { service, name, kind, started, received, sent, handled, times })
    }

    fn labels(&self) -> [(&str, &str); 3] {
        [("grpc_type", self.kind.as_str()), ("grpc_service", &self.service), ("grpc_method", &self.name)]
    }
}

/// Counts the calls of each method.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<OnceLock<Methods>>);

struct Methods {
    by_path: HashMap<String, Arc<Method>, FixedState>,
    unknown: Arc<Method>,
    /// In the order of registration, `unknown` last.
    all: Vec<Arc<Method>>,
}

impl MetricSet for Calls {
    const PREFIX: Option<&'static str> = None;

    fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }
}

impl Calls {
    /// Registers these methods (service, name and kind), each counted from 0. Only the first call has an effect.
    pub(crate) fn know(&self, methods: impl IntoIterator<Item = (String, String, Kind)>) {
        self.0.get_or_init(|| {
            let mut all: Vec<Arc<Method>> =
                methods.into_iter().map(|(service, name, kind)| Method::new(service, name, kind)).collect();
            let path = |method: &Arc<Method>| (format!("/{}/{}", method.service, method.name), method.clone());
            let by_path = all.iter().map(path).collect();
            // The kind that grpc-go reports for unknown methods.
            let kind = Kind { client_streams: true, server_streams: true };
            let unknown = Method::new(UNKNOWN.to_owned(), UNKNOWN.to_owned(), kind);
            all.push(unknown.clone());
            Methods { by_path, unknown, all }
        });
    }

    /// Starts counting a call. `None` if no methods are registered.
    pub(crate) fn begin(&self, path: &str) -> Option<Call> {
        let methods = self.0.get()?;
        let method = methods.by_path.get(path).unwrap_or(&methods.unknown).clone();
        method.started.fetch_add(1, Ordering::Relaxed);
        Some(Call { method, begun: Instant::now(), is_over: false })
    }
}

/// A call in progress. If dropped before its end, it counts as cancelled by its client.
pub(crate) struct Call {
    method: Arc<Method>,
    begun: Instant,
    is_over: bool,
}

impl Call {
    /// The kind of the method.
    pub(crate) fn kind(&self) -> Kind {
        self.method.kind
    }

    /// The counter of messages that the client sends.
    pub(crate) fn received(&self) -> Received {
        Received(self.method.clone())
    }

    /// Counts messages sent by the server.
    pub(crate) fn sent(&self, messages: u64) {
        self.method.sent.fetch_add(messages, Ordering::Relaxed);
    }

    /// Ends the call with this code.
    pub(crate) fn end(mut self, code: Code) {
        self.count(code);
    }

    fn count(&mut self, code: Code) {
        self.is_over = true;
        self.method.handled[code as usize].fetch_add(1, Ordering::Relaxed);
        self.method.times.took(self.begun.elapsed());
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_over {
            self.count(Code::Cancelled);
        }
    }
}

/// Counts the messages that the client of a call sends.
pub(crate) struct Received(Arc<Method>);

impl Received {
    pub(crate) fn count(&self, messages: u64) {
        self.0.received.fetch_add(messages, Ordering::Relaxed);
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Calls")
    }
}

const NO_EXEMPLAR: Option<&Exemplar<[(&str, &str); 0], f64>> = None;

impl Collector for Calls {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(Methods { all, .. }) = self.0.get() else { return Ok(()) };
        let mut counter = |name: &str, help: &str, of: fn(&Method) -> &AtomicU64| {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            all.iter().try_for_each(|method| {
                let count = of(method).load(Ordering::Relaxed);
                metric.encode_family(&method.labels())?.encode_counter(&count, NO_EXEMPLAR)
            })
        };
        counter("grpc_server_started", "Started calls.", |method| &method.started)?;
        counter("grpc_server_msg_received", "Messages received from clients.", |method| &method.received)?;
        counter("grpc_server_msg_sent", "Messages sent to clients.", |method| &method.sent)?;
        let help = "Completed calls, by status code.";
        let mut metric = encoder.encode_descriptor("grpc_server_handled", help, None, MetricType::Counter)?;
        for method in all {
            for (code, count) in CODES.iter().zip(&method.handled) {
                let [kind, service, name] = method.labels();
                let labels = [kind, service, name, ("grpc_code", code)];
                let count = count.load(Ordering::Relaxed);
                metric.encode_family(&labels)?.encode_counter(&count, NO_EXEMPLAR)?;
            }
        }
        let help = "Duration of completed calls, including waits for locks and the lifetime of streams, in seconds.";
        let mut metric =
            encoder.encode_descriptor("grpc_server_handling_seconds", help, None, MetricType::Histogram)?;
        all.iter().try_for_each(|method| method.times.0.encode(metric.encode_family(&method.labels())?))
    }
}
