//! Passes the current trace to the server: the current context of OpenTelemetry, which is that of the surrounding span.
//! Without the feature `otel` there is none.

/// The most bytes of names that a span records.
const NAMES: usize = 512;

/// The current trace, in the format of W3C Trace Context; empty if there is none.
#[cfg(feature = "otel")]
pub(crate) fn current() -> String {
    otel::current(otel::traceparent).unwrap_or_default()
}

/// There is none.
#[cfg(not(feature = "otel"))]
pub(crate) fn current() -> String {
    String::new()
}

/// Adds the current trace to the headers of a call, unless the caller has done so.
#[cfg(feature = "otel")]
pub(crate) fn send_along(headers: &mut http::HeaderMap) {
    otel::current(|span| {
        if headers.contains_key("traceparent") {
            return;
        }
        if let Ok(traceparent) = otel::traceparent(span).try_into() {
            headers.insert("traceparent", traceparent);
        }
        let state = span.trace_state().header();
        if !state.is_empty()
            && let Ok(state) = state.try_into()
        {
            headers.insert("tracestate", state);
        }
    });
}

/// Adds nothing.
#[cfg(not(feature = "otel"))]
pub(crate) fn send_along(_: &mut http::HeaderMap) {}

/// The names as a span records them.
pub(crate) fn joined(names: &[String]) -> String {
    let mut text = String::new();
    for (place, name) in names.iter().enumerate() {
        if text.len() + name.len() > NAMES {
            text.push_str(&format!(" and {} more", names.len() - place));
            break;
        }
        if place > 0 {
            text.push(' ');
        }
        text.push_str(name);
    }
    text
}

#[cfg(feature = "otel")]
mod otel {
    use opentelemetry::Context;
    use opentelemetry::trace::{SpanContext, TraceContextExt};

    /// Calls a function with the current span, if there is one.
    pub(super) fn current<T>(look: impl FnOnce(&SpanContext) -> T) -> Option<T> {
        Context::map_current(|context| {
            let span = context.span();
            let span = span.span_context();
            span.is_valid().then(|| look(span))
        })
    }

    /// In the format of W3C Trace Context.
    pub(super) fn traceparent(span: &SpanContext) -> String {
        format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), u8::from(span.is_sampled()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        let names = |len: usize, count: usize| vec!["n".repeat(len); count];
        assert_eq!(joined(&names(1, 2)), "n n");
        let long = joined(&names(255, 4));
        assert!(long.ends_with(" and 2 more") && long.len() < NAMES + 40, "{long}");
    }

    #[test]
    fn no_header_is_sent_without_a_span() {
        let mut headers = http::HeaderMap::new();
        send_along(&mut headers);
        assert!(headers.is_empty());
        assert_eq!(current(), "");
    }

    #[cfg(feature = "otel")]
    #[test]
    fn current_span_is_sent() {
        use opentelemetry::Context;
        use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
        let state = TraceState::from_key_value([("vendor", "1")]).unwrap();
        let span = SpanContext::new(TraceId::from(1), SpanId::from(2), TraceFlags::SAMPLED, false, state);
        let guard = Context::new().with_remote_span_context(span).attach();
        let traceparent = format!("00-{}1-{}2-01", "0".repeat(31), "0".repeat(15));
        let mut headers = http::HeaderMap::new();
        assert_eq!(current(), traceparent);
        send_along(&mut headers);
        drop(guard);
        assert_eq!(
            (&headers["traceparent"], &headers["tracestate"]),
            (&traceparent.parse().unwrap(), &"vendor=1".parse().unwrap())
        );
        headers.insert("traceparent", "given".parse().unwrap());
        send_along(&mut headers);
        assert_eq!(headers["traceparent"], "given");
    }
}
