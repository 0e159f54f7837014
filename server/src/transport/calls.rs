//! gRPC server metrics with the names and labels of go-grpc-prometheus, so that existing dashboards work.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::FixedState;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tonic::Code;

use crate::telemetry::metrics::{Latencies, MetricSet};

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

/// The type, service and name of a method.
type Labels = [(&'static str, String); 3];

/// A status code.
type CodeLabel = [(&'static str, &'static str); 1];

/// The metrics of calls, by method.
#[derive(Clone)]
pub(crate) struct Calls {
    started: Family<Labels, Counter>,
    received: Family<Labels, Counter>,
    sent: Family<Labels, Counter>,
    handled: Family<(Labels, CodeLabel), Counter>,
    times: Family<Labels, Histogram>,
}

impl Default for Calls {
    fn default() -> Self {
        let (started, received, sent, handled) = Default::default();
        let times = Family::<Labels, Histogram>::new_with_constructor(|| Latencies::default().0);
        Self { started, received, sent, handled, times }
    }
}

impl MetricSet for Calls {
    const PREFIX: Option<&'static str> = None;

    fn register(&self, registry: &mut Registry) {
        registry.register("grpc_server_started", "Started calls", self.started.clone());
        registry.register("grpc_server_msg_received", "Messages received from clients", self.received.clone());
        registry.register("grpc_server_msg_sent", "Messages sent to clients", self.sent.clone());
        registry.register("grpc_server_handled", "Completed calls, by status code", self.handled.clone());
        let help = "Duration of completed calls, including waits for locks and the lifetime of streams, in seconds";
        registry.register("grpc_server_handling_seconds", help, self.times.clone());
    }
}

impl Calls {
    /// The counters of a method, all at 0.
    fn method(&self, service: &str, name: &str, kind: Kind) -> Arc<Method> {
        let labels = [("grpc_type", kind.as_str()), ("grpc_service", service), ("grpc_method", name)];
        let labels = labels.map(|(label, value)| (label, value.to_owned()));
        Arc::new(Method {
            kind,
            started: self.started.get_or_create_owned(&labels),
            received: self.received.get_or_create_owned(&labels),
            sent: self.sent.get_or_create_owned(&labels),
            times: Latencies(self.times.get_or_create_owned(&labels)),
            handled: CODES.map(|code| self.handled.get_or_create_owned(&(labels.clone(), [("grpc_code", code)]))),
        })
    }
}

/// The counters of a method.
pub(crate) struct Method {
    pub(super) kind: Kind,
    started: Counter,
    /// Messages that clients sent.
    pub(super) received: Counter,
    /// Messages that this server sent.
    pub(super) sent: Counter,
    times: Latencies,
    handled: [Counter; CODES.len()],
}

/// Counts the calls of each method.
pub(crate) struct Methods {
    by_path: HashMap<String, Arc<Method>, FixedState>,
    unknown: Arc<Method>,
}

impl Methods {
    /// Counts the calls of these methods (service, name and kind) in `calls`.
    pub(crate) fn new(calls: &Calls, methods: impl IntoIterator<Item = (String, String, Kind)>) -> Self {
        let counted = |(service, name, kind): (String, String, Kind)| {
            (format!("/{service}/{name}"), calls.method(&service, &name, kind))
        };
        let by_path = methods.into_iter().map(counted).collect();
        // The kind that grpc-go reports for unknown methods.
        let kind = Kind { client_streams: true, server_streams: true };
        Self { by_path, unknown: calls.method(UNKNOWN, UNKNOWN, kind) }
    }

    /// Starts counting a call.
    pub(crate) fn begin(&self, path: &str) -> Call {
        let method = self.by_path.get(path).unwrap_or(&self.unknown).clone();
        method.started.inc();
        Call { method, begun: Instant::now(), code: Code::Cancelled }
    }
}

/// A call in progress, counted on drop. Without an [end](Self::end) it counts as cancelled by its client.
pub(crate) struct Call {
    pub(super) method: Arc<Method>,
    begun: Instant,
    code: Code,
}

impl Call {
    /// Ends the call with this code.
    pub(crate) fn end(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.method.handled[self.code as usize].inc();
        self.method.times.took(self.begun.elapsed());
    }
}
