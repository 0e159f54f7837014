//! A trace collector: receives the exports of servers and of this process, and finds spans in them.

use std::net::SocketAddr;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tenure_harness::TenuredOptions;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// How long spans may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

/// All spans that have arrived.
#[derive(Clone)]
pub struct Collector {
    address: SocketAddr,
    /// Each with the name of its service.
    arrived: watch::Sender<Vec<(String, Span)>>,
}

struct Receiver(watch::Sender<Vec<(String, Span)>>);

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send_modify(|arrived| {
            for of_resource in request.into_inner().resource_spans {
                let attributes = of_resource.resource.iter().flat_map(|resource| &resource.attributes);
                let named = attributes.filter(|attribute| attribute.key == "service.name");
                let service = named.map(|attribute| format!("{:?}", attribute.value)).collect::<String>();
                let spans = of_resource.scope_spans.into_iter().flat_map(|of_scope| of_scope.spans);
                arrived.extend(spans.map(|span| (service.clone(), span)));
            }
        });
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Starts one.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, arrived) = (listener.local_addr().unwrap(), watch::Sender::default());
        let service = TraceServiceServer::new(Receiver(arrived.clone()));
        let serving = tonic::transport::Server::builder().add_service(service);
        tokio::spawn(serving.serve_with_incoming(TcpListenerStream::new(listener)));
        Self { address, arrived }
    }

    /// Options with an endpoint at this collector, and a short export delay.
    pub fn exporting_options(&self, options: TenuredOptions) -> TenuredOptions {
        exporting_to(options, &format!("http://{}", self.address))
    }

    /// A matching span, once it has arrived.
    pub async fn span(&self, what: &str, is_it: impl Fn(&Span) -> bool) -> Span {
        let mut arrived = self.arrived.subscribe();
        let found = timeout(ARRIVAL, arrived.wait_for(|all| all.iter().any(|(_, span)| is_it(span)))).await;
        match found {
            Ok(all) => all.unwrap().iter().find(|(_, span)| is_it(span)).unwrap().1.clone(),
            Err(_) => panic!("no {what} among {:?}", self.names()),
        }
    }

    /// A matching span, if it has arrived.
    pub fn arrived(&self, is_it: impl Fn(&Span) -> bool) -> Option<Span> {
        self.arrived.borrow().iter().map(|(_, span)| span).find(|span| is_it(span)).cloned()
    }

    /// The child of this span that has this name.
    pub async fn child(&self, parent: &Span, name: &str) -> Span {
        self.span(name, |span| {
            span.name == name && span.trace_id == parent.trace_id && span.parent_span_id == parent.span_id
        })
        .await
    }

    /// The names of the spans of a trace that have arrived, with those of their services.
    pub fn of_trace(&self, trace: &str) -> Vec<(String, String)> {
        let all = self.arrived.borrow();
        let of_trace = all.iter().filter(|(_, span)| hex(&span.trace_id) == trace);
        of_trace.map(|(service, span)| (service.clone(), span.name.clone())).collect()
    }

    fn names(&self) -> Vec<String> {
        self.arrived.borrow().iter().map(|(_, span)| span.name.clone()).collect()
    }
}

/// Options with this endpoint for spans, and a short export delay.
pub fn exporting_to(mut options: TenuredOptions, endpoint: &str) -> TenuredOptions {
    for (name, value) in [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "20")] {
        options.environment.push((name.to_owned(), value.to_owned()));
    }
    options
}

pub fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An attribute of a span, as text.
pub fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    Some(text(found.value.as_ref()?.value.as_ref()?))
}

fn text(value: &Value) -> String {
    match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(truth) => truth.to_string(),
        Value::ArrayValue(values) => {
            let texts = values.values.iter().filter_map(|value| value.value.as_ref()).map(text);
            texts.collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    }
}
