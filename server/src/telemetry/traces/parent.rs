//! Parses and formats `traceparent` (W3C Trace Context), from headers or message fields.

use std::str::FromStr;

use http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};

use super::Traced;

/// The length of a `traceparent`, in bytes.
pub(crate) const TRACEPARENT: usize = 55;

/// The longest accepted `tracestate`, in bytes: the length that the specification requires to be propagated.
const TRACESTATE: usize = 512;

/// The byte ranges of the parts.
const PARTS: [std::ops::Range<usize>; 4] = [0..2, 3..35, 36..52, 53..55];

/// The parent named by the caller; empty if missing or invalid.
pub(crate) fn named(traceparent: &str, tracestate: &str) -> Context {
    match parse(traceparent, tracestate) {
        Some(parent) => Context::new().with_remote_span_context(parent),
        None => Context::new(),
    }
}

/// The parent named in the headers of a call. A repeated header is ignored.
pub(crate) fn of_headers(headers: &HeaderMap) -> Context {
    let only = |name| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
    };
    named(only("traceparent").unwrap_or_default(), only("tracestate").unwrap_or_default())
}

/// The span as a parent for other processes.
pub(crate) fn traceparent(traced: &Traced) -> Option<String> {
    let context = traced.0.as_ref()?;
    let span = context.span();
    let span = span.span_context();
    Some(format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8()))
}

fn parse(traceparent: &str, tracestate: &str) -> Option<SpanContext> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let bytes = traceparent.as_bytes();
    if bytes.len() != TRACEPARENT
        || ![2, 35, 52].iter().all(|place| bytes[*place] == b'-')
        || !PARTS.into_iter().all(|part| bytes[part].iter().all(is_digit))
    {
        return None;
    }
    let [version, trace, span, flags] = PARTS.map(|part| &traceparent[part]);
    if version == "ff" {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let state = Some(tracestate).filter(|state| state.len() <= TRACESTATE);
    let state = state.and_then(|state| TraceState::from_str(state).ok()).unwrap_or_default();
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    Some(SpanContext::new(trace, span, flags, true, state)).filter(SpanContext::is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_parent_is_read() {
        let parent = parse(GOOD, "vendor=1").expect("good");
        assert_eq!(parent.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parent.span_id().to_string(), "b7ad6b7169203331");
        assert_eq!(parent.trace_state().get("vendor"), Some("1"));
        assert!(parent.is_sampled() && parent.is_remote());
        let unsampled = parse(&GOOD.replace("-01", "-00"), "").expect("good");
        assert!(!unsampled.is_sampled());
        assert!(parse(&GOOD.replacen("00", "cc", 1), "").is_some(), "a later version says the same at the same place");
    }

    #[test]
    fn what_is_none_is_ignored() {
        let bad = [
            "",
            "00",
            &GOOD[1..],
            &format!("{GOOD}-01"),
            &GOOD.replacen("00", "ff", 1),
            &GOOD.to_uppercase(),
            &GOOD.replace('-', "_"),
            &GOOD.replacen("0af7", "+af7", 1),
            &GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            &GOOD.replacen("0af7", "\u{e9}f7", 1),
        ];
        for bad in bad {
            assert!(parse(bad, "").is_none(), "{bad}");
        }
    }

    #[test]
    fn a_bad_state_is_left_out_of_a_good_parent() {
        for state in ["no pair", "a=1,b", &"a".repeat(TRACESTATE + 1)] {
            assert_eq!(parse(GOOD, state).expect("good").trace_state().header(), "", "{state}");
        }
    }

    #[test]
    fn headers_that_are_there_twice_name_nobody() {
        let mut headers = HeaderMap::new();
        assert!(!of_headers(&headers).has_active_span());
        headers.append("traceparent", GOOD.parse().expect("a value"));
        assert!(of_headers(&headers).has_active_span());
        headers.append("traceparent", GOOD.parse().expect("a value"));
        assert!(!of_headers(&headers).has_active_span());
    }
}
