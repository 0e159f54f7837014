//! Exports spans over OTLP, configured by the standard OpenTelemetry environment variables.

use std::env;
use std::time::Duration;

use anyhow::{Context, bail};
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter as _};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::TRACER;
use super::reporting::Reporting;

/// Timeout for exporting the last spans at shutdown.
const LAST_SPANS: Duration = Duration::from_secs(2);

const SERVICE: &str = "tenured";

const SAMPLERS: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];

/// The span exporter.
#[derive(Debug)]
pub struct Export(Option<SdkTracerProvider>);

impl Export {
    /// Starts recording and exporting spans, if the environment asks for it. Must be called within a runtime. If the
    /// environment's settings cannot be used, the error is logged and the server runs without traces.
    #[must_use]
    pub fn start() -> Self {
        if !is_asked_for(&variable) {
            return Self(None);
        }
        match provider() {
            Ok(provider) => {
                let scope = InstrumentationScope::builder("tenure").with_version(env!("CARGO_PKG_VERSION")).build();
                // Set once per process.
                let _ = TRACER.set(provider.tracer_with_scope(scope));
                Self(Some(provider))
            }
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "cannot start the export of traces");
                Self(None)
            }
        }
    }

    /// Exports the remaining spans and stops, within two seconds.
    pub async fn stop(self) {
        let Some(provider) = self.0 else { return };
        let flushed = spawn_blocking(move || provider.shutdown_with_timeout(LAST_SPANS));
        if !matches!(timeout(LAST_SPANS, flushed).await, Ok(Ok(Ok(())))) {
            tracing::warn!("cannot export the last traces");
        }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Whether an endpoint is configured and tracing is not disabled.
fn is_asked_for(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let has_endpoint = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]
        .iter()
        .any(|name| variable(name).is_some());
    let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    has_endpoint && !is_off
}

fn protocol(variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Protocol> {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    match names.iter().find_map(|name| variable(name)).as_deref() {
        None | Some("grpc") => Ok(Protocol::Grpc),
        Some("http/protobuf") => Ok(Protocol::HttpBinary),
        Some(other) => bail!("OTEL_EXPORTER_OTLP_PROTOCOL: grpc or http/protobuf, not {other}"),
    }
}

fn check_sampler(variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
    let Some(sampler) = variable("OTEL_TRACES_SAMPLER") else { return Ok(()) };
    if !SAMPLERS.contains(&&*sampler) {
        bail!("OTEL_TRACES_SAMPLER: one of {}, not {sampler}", SAMPLERS.join(", "));
    }
    if sampler.ends_with("traceidratio") {
        let ratio = variable("OTEL_TRACES_SAMPLER_ARG").and_then(|ratio| ratio.parse::<f64>().ok());
        if ratio.is_none_or(|ratio| !(0.0..=1.0).contains(&ratio)) {
            bail!("OTEL_TRACES_SAMPLER_ARG: a ratio from 0 to 1, for {sampler}");
        }
    }
    Ok(())
}

fn provider() -> anyhow::Result<SdkTracerProvider> {
    check_sampler(&variable)?;
    let exporter = match protocol(&variable)? {
        Protocol::Grpc => SpanExporter::builder().with_tonic().with_protocol(Protocol::Grpc).build(),
        _ => SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build(),
    };
    let (mut exporter, resource) = (exporter.context("the exporter of traces")?, resource());
    exporter.set_resource(&resource);
    let exporter = Reporting::new(exporter, Handle::current());
    // The sampler and the limits of spans and queue come from the environment; spans that exceed the queue are dropped.
    Ok(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build())
}

/// The resource of the spans: from the environment, with this program as the default.
fn resource() -> Resource {
    let name = variable("OTEL_SERVICE_NAME").map(|name| KeyValue::new("service.name", name));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    Resource::builder_empty()
        .with_attributes([KeyValue::new("service.name", SERVICE), version])
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())])
        .with_attributes(name)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn traces_are_off_without_an_endpoint() {
        assert!(!is_asked_for(&of(&[])));
        assert!(!is_asked_for(&of(&[("OTEL_TRACES_SAMPLER", "always_on")])));
        assert!(is_asked_for(&of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317")])));
        assert!(is_asked_for(&of(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4317")])));
        assert!(!is_asked_for(&of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), ("OTEL_SDK_DISABLED", "TRUE")])));
        assert!(!is_asked_for(&of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), ("OTEL_TRACES_EXPORTER", "none")])));
    }

    #[test]
    fn unsupported_protocol_is_named() {
        assert_eq!(protocol(&of(&[])).expect("the default"), Protocol::Grpc);
        let http =
            of(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")]);
        assert_eq!(protocol(&http).expect("the one for traces"), Protocol::HttpBinary);
        let error = protocol(&of(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")])).expect_err("not there");
        assert_eq!(error.to_string(), "OTEL_EXPORTER_OTLP_PROTOCOL: grpc or http/protobuf, not http/json");
    }

    #[test]
    fn unsupported_sampler_is_named() {
        let check = |pairs: &'static [_]| check_sampler(&of(pairs)).map_err(|error| error.to_string());
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("OTEL_TRACES_SAMPLER", "always_on")]), Ok(()));
        assert!(check(&[("OTEL_TRACES_SAMPLER", "sometimes")]).is_err_and(|why| why.contains("not sometimes")));
        let ratio = "OTEL_TRACES_SAMPLER_ARG: a ratio from 0 to 1, for traceidratio";
        assert_eq!(check(&[("OTEL_TRACES_SAMPLER", "traceidratio")]), Err(ratio.to_owned()));
        let two = &[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
        assert_eq!(check(two), Err(ratio.to_owned()));
    }
}
