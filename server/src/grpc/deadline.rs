//! Ends calls whose deadline (`grpc-timeout`) has passed with the status defined for that. The transport would end
//! them, too, but as cancelled and without a reason; so its deadline starts after this one, and passes after it. An
//! unreadable deadline is rejected: its caller would wait without one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{Either, Ready, ready};
use http::{HeaderMap, Request, Response};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::status;
use crate::auth::Refusals;

const HEADER: &str = "grpc-timeout";

/// Maximum number of digits of a deadline.
const DIGITS: usize = 8;

/// Enforces the deadlines of calls.
#[derive(Clone)]
pub(crate) struct DeadlineLayer(Refusals);

impl DeadlineLayer {
    /// Counts calls that end by their deadline in `refusals`.
    pub(crate) fn new(refusals: Refusals) -> Self {
        Self(refusals)
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = WithDeadline<S>;

    fn layer(&self, inner: S) -> WithDeadline<S> {
        WithDeadline { inner, refusals: self.0.clone() }
    }
}

/// A service behind [`DeadlineLayer`].
#[derive(Clone)]
pub(crate) struct WithDeadline<S> {
    inner: S,
    refusals: Refusals,
}

impl<S> Service<Request<Body>> for WithDeadline<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<Answering<S::Future>, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let timeout = match read(request.headers()) {
            Ok(timeout) => timeout,
            Err(status) => return Either::Right(ready(Ok(status.into_http()))),
        };
        let deadline = timeout.and_then(|timeout| {
            let until = Instant::now().checked_add(timeout)?;
            Some(Deadline { until, sleep: Box::pin(sleep_until(until)), refusals: self.refusals.clone() })
        });
        Either::Left(Answering { inner: self.inner.call(request), deadline })
    }
}

/// The timeout of a call, if its headers have one.
///
/// # Errors
/// If it cannot be read, or is present twice.
fn read(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let timeout = value.to_str().ok().and_then(parse).filter(|_| values.next().is_none());
    let bound = format!("once, and 1 to {DIGITS} digits with a unit: H, M, S, m, u or n");
    timeout.map(Some).ok_or_else(|| status::invalid(HEADER, bound))
}

fn parse(header: &str) -> Option<Duration> {
    let (amount, unit) = header.split_at_checked(header.len().checked_sub(1)?)?;
    if amount.is_empty() || amount.len() > DIGITS || !amount.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = amount.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3_600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

struct Deadline {
    until: Instant,
    sleep: Pin<Box<Sleep>>,
    refusals: Refusals,
}

pin_project! {
    /// A call until its response starts.
    pub(crate) struct Answering<F> {
        #[pin]
        inner: F,
        deadline: Option<Deadline>,
    }
}

impl<F, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(answer) = this.inner.poll(context) {
            return Poll::Ready(answer);
        }
        let Some(deadline) = this.deadline else { return Poll::Pending };
        // The clock is checked, too: timers due at the same time do not all fire at once, and the transport's is due
        // almost at the same time.
        if deadline.sleep.as_mut().poll(context).is_pending() && Instant::now() < deadline.until {
            return Poll::Pending;
        }
        let status = status::overdue("the call's deadline passed before its response: it may have taken effect");
        status::count(&status, &deadline.refusals);
        Poll::Ready(Ok(status.into_http()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_is_parsed_in_every_unit() {
        let read = |header| parse(header).map(|timeout| timeout.as_nanos());
        assert_eq!(read("1n"), Some(1));
        assert_eq!(read("20u"), Some(20_000));
        assert_eq!(read("99999999m"), Some(99_999_999_000_000));
        assert_eq!(read("3S"), Some(3_000_000_000));
        assert_eq!(read("2M"), Some(120_000_000_000));
        assert_eq!(read("1H"), Some(3_600_000_000_000));
    }

    #[test]
    fn malformed_deadline_is_rejected() {
        let headers = |values: &[&str]| {
            let name = http::HeaderName::from_static(HEADER);
            values.iter().map(|value| (name.clone(), value.parse().expect("a header"))).collect::<HeaderMap>()
        };
        assert_eq!(read(&headers(&[])).expect("no deadline"), None);
        assert_eq!(read(&headers(&["3S"])).expect("a deadline"), Some(Duration::from_secs(3)));
        for header in ["", "S", "1", "1s", "-1S", "+1S", "1.5S", "123456789m", "yesterday", "1\u{b5}"] {
            let refused = read(&headers(&[header])).expect_err("no deadline");
            assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{header}");
            assert!(refused.message().starts_with("grpc-timeout: "), "{refused:?}");
        }
        assert!(read(&headers(&["3S", "3S"])).is_err(), "repeated");
    }
}
