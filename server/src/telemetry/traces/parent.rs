//! Reads and formats `traceparent` (W3C Trace Context), in headers and in message fields.

use http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// The length of a `traceparent`, in bytes.
pub(crate) const TRACEPARENT: usize = 55;

/// The longest accepted `tracestate`, in bytes: as much as must be propagated (W3C Trace Context, 3.3.1.5).
const TRACESTATE: usize = 512;

/// The parent named by a message; empty if missing or malformed.
pub(crate) fn named(traceparent: &str) -> Context {
    extract(&Field(traceparent))
}

/// The parent named by the headers of a call; empty if missing or malformed.
pub(crate) fn of_headers(headers: &HeaderMap) -> Context {
    extract(&Headers(headers))
}

/// The span as a parent for other processes.
pub(crate) fn traceparent(span: &Context) -> Option<String> {
    let span = span.has_active_span().then(|| span.span())?;
    let span = span.span_context();
    Some(format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags()))
}

fn extract(carrier: &dyn Extractor) -> Context {
    TraceContextPropagator::new().extract_with_context(&Context::new(), carrier)
}

/// Whether a value has a valid length. The propagator does not check it, and splits a value of any length.
fn fits(key: &str, value: &str) -> bool {
    if key == "traceparent" { value.len() == TRACEPARENT } else { value.len() <= TRACESTATE }
}

struct Field<'a>(&'a str);

impl Extractor for Field<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == "traceparent" && fits(key, self.0)).then_some(self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

/// Headers, without those that are repeated.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let mut values = self.0.get_all(key).iter();
        let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
        fits(key, value).then_some(value)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn parent_is_read_from_a_message() {
        let parent = named(GOOD);
        assert!(parent.span().span_context().is_remote());
        assert_eq!(traceparent(&parent).as_deref(), Some(GOOD));
        assert_eq!(GOOD.len(), TRACEPARENT);
        for malformed in ["", "00", "00-1-2-1", "00-hello-world-01", &GOOD.to_uppercase(), &"-".repeat(10_000)] {
            assert!(!named(malformed).has_active_span(), "{malformed}");
        }
    }

    #[test]
    fn parent_is_read_from_headers_unless_repeated() {
        let mut headers = HeaderMap::new();
        assert!(!of_headers(&headers).has_active_span());
        headers.append("traceparent", GOOD.parse().expect("a value"));
        headers.append("tracestate", "vendor=1".parse().expect("a value"));
        assert_eq!(of_headers(&headers).span().span_context().trace_state().get("vendor"), Some("1"));
        headers.insert("tracestate", format!("vendor={}", "1".repeat(TRACESTATE)).parse().expect("a value"));
        let parent = of_headers(&headers);
        assert!(parent.has_active_span() && parent.span().span_context().trace_state().get("vendor").is_none());
        headers.append("traceparent", GOOD.parse().expect("a value"));
        assert!(!of_headers(&headers).has_active_span());
    }
}
