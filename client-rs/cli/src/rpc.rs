//! Calls to the service: tries the endpoints in order, and reports why none of them served the call.

use std::time::Duration;

use tenure_client::transport::{self, Security, Wire};
use tenure_proto::Call;
use tenure_proto::codec::Codec;
use tokio::time::{Instant, timeout};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Uri;
use tonic::{Request, Response, Status};

use crate::exit::{self, Failure};
use crate::output::exact;
use crate::rejection;

/// How long connecting to one endpoint may take at most before the next one is tried.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The upper bound of a call's timeout, because instants have a limited range.
const LONGEST_CALL: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The endpoints of the service, and the timeout of calls.
#[derive(Debug, Clone)]
pub struct Rpc {
    /// The endpoints, in the order in which they are tried.
    pub endpoints: Vec<String>,
    /// How connections are secured.
    pub security: Security,
    /// The timeout of a call.
    pub timeout: Duration,
    /// The time that the service may wait before it replies, in addition to the timeout.
    server_wait: Duration,
}

/// Whether a call that may have taken effect may be sent to the next endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Yes: the call is idempotent.
    Safe,
    /// No: only if it certainly had no effect.
    Unsafe,
}

impl Rpc {
    /// Calls to one of `endpoints`, with a `timeout` for all endpoints together.
    pub fn new(endpoints: Vec<String>, security: Security, timeout: Duration) -> Self {
        Self { endpoints, security, timeout, server_wait: Duration::ZERO }
    }

    /// A copy that uses one endpoint only.
    #[must_use]
    pub fn only(&self, endpoint: &str) -> Self {
        Self { endpoints: vec![endpoint.to_owned()], ..self.clone() }
    }

    /// A copy with more time, for calls that wait.
    #[must_use]
    pub fn with_more_time(&self, more: Duration) -> Self {
        Self { server_wait: self.server_wait.saturating_add(more), ..self.clone() }
    }

    /// Makes a call at the first endpoint that can reply, as [`call_with`](Self::call_with) does.
    ///
    /// # Errors
    /// As [`call_with`](Self::call_with).
    pub async fn call<C: Call>(&self, repeat: Repeat, request: &C) -> Result<C::Reply, Failure> {
        let call = async |wire: Wire, request: C| {
            let mut service = Grpc::new(wire);
            service.ready().await?;
            service.unary(Request::new(request), PathAndQuery::from_static(C::PATH), Codec::default()).await
        };
        self.call_with(repeat, request, call).await
    }

    /// Sends `request` to the first endpoint that can reply. A rejection is a reply; an unreachable or draining server
    /// gives none.
    ///
    /// # Errors
    /// The rejection, or why no endpoint could reply.
    pub async fn call_with<Q: Clone, T>(
        &self,
        repeat: Repeat,
        request: &Q,
        call: impl AsyncFn(Wire, Q) -> Result<Response<T>, Status>,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + self.timeout.saturating_add(self.server_wait).min(LONGEST_CALL);
        let mut tried = Vec::new();
        for (position, endpoint) in self.endpoints.iter().enumerate() {
            // A silent endpoint must leave time for the others.
            let left = deadline.saturating_duration_since(Instant::now());
            let others = u32::try_from(self.endpoints.len() - position).unwrap_or(u32::MAX);
            let share = left.saturating_sub(self.server_wait) / others;
            let channel = match self.connect(endpoint, share).await {
                Ok(channel) => channel,
                Err(why) => {
                    tried.push((endpoint.as_str(), why));
                    continue;
                }
            };
            let limit = match repeat {
                Repeat::Safe => share.saturating_add(self.server_wait),
                Repeat::Unsafe => left,
            };
            let status = match timeout(limit, call(channel, request.clone())).await {
                Ok(Ok(response)) => return Ok(response.into_inner()),
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded(format!("{endpoint}: no reply within {}", exact(limit))),
            };
            match rejection::no_reply(&status) {
                Some(silent) if repeat == Repeat::Safe || silent.nothing_changed => {
                    tried.push((endpoint.as_str(), silent.why));
                }
                _ => return Err(rejection::failure(&status)),
            }
        }
        Err(unavailable(&tried))
    }

    /// Connects to one endpoint, within `limit` and [`CONNECT_TIMEOUT`].
    ///
    /// # Errors
    /// The cause, in readable form.
    pub async fn connect(&self, endpoint: &str, limit: Duration) -> Result<Wire, String> {
        let server: Uri = endpoint.parse().map_err(|_| "not a URL".to_owned())?;
        let limit = limit.min(CONNECT_TIMEOUT);
        match timeout(limit, transport::connect(&server, self.security.clone(), CONNECT_TIMEOUT)).await {
            Ok(connected) => connected.map_err(|problem| root_cause(&problem)),
            Err(_) => Err(format!("no connection within {}", exact(limit))),
        }
    }
}

/// Reads all pages of a list, and merges their `$items` into one response.
macro_rules! all_pages {
    ($rpc:expr, $request:expr, $items:ident) => {{
        let mut request = $request;
        let mut all = $rpc.call(Repeat::Safe, &request).await?;
        while !all.next_page_token.is_empty() {
            request.page_token = std::mem::take(&mut all.next_page_token);
            let page = $rpc.call(Repeat::Safe, &request).await?;
            all.$items.extend(page.$items);
            (all.revision, all.next_page_token) = (page.revision, page.next_page_token);
        }
        all
    }};
}
pub(crate) use all_pages;

/// The deepest cause of an error: "connection refused" rather than "transport error".
fn root_cause(problem: &str) -> String {
    if let Some(start) = problem.find("invalid peer certificate") {
        return problem[start..].to_owned();
    }
    let deepest = problem.rsplit(": ").next().unwrap_or(problem);
    deepest.split(" (os error").next().unwrap_or(deepest).to_lowercase()
}

/// The failure when no endpoint could reply, with the cause for each.
pub fn unavailable(tried: &[(&str, String)]) -> Failure {
    let message = match tried {
        [_] => "the server cannot be reached, or cannot reply:".to_owned(),
        _ => format!("none of {} servers can be reached and reply:", tried.len()),
    };
    let causes: String = tried.iter().map(|(endpoint, why)| format!("\n    {endpoint}: {why}")).collect();
    Failure::new(exit::UNAVAILABLE, message + &causes)
        .next("start a server (tenured), pass others with --endpoints, or diagnose with tenure doctor")
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::GetLockRequest;

    use super::*;

    /// A port without a listener: it was free a moment ago, and is released again.
    fn closed_port() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    #[tokio::test]
    async fn endpoints_that_are_away_are_named() {
        let (first, second) = (closed_port(), closed_port());
        let rpc = Rpc::new(vec![first.clone(), second.clone()], Security::default(), Duration::from_secs(5));
        let failure = rpc.call(Repeat::Safe, &GetLockRequest::default()).await.unwrap_err();
        assert_eq!(failure.code, exit::UNAVAILABLE);
        assert!(failure.message.contains(&format!("{first}: connection refused")), "{failure}");
        assert!(failure.message.contains(&second), "{failure}");
        assert!(failure.next.is_some());
    }

    #[tokio::test]
    async fn a_silent_server_neither_hangs_the_call_nor_keeps_it_from_the_next() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (silent, closed) = (format!("http://{}", listener.local_addr().unwrap()), closed_port());
        let rpc = Rpc::new(vec![silent.clone(), closed.clone()], Security::default(), Duration::from_secs(1));
        let failure = rpc.call(Repeat::Safe, &GetLockRequest::default()).await.unwrap_err();
        assert_eq!(failure.code, exit::UNAVAILABLE);
        assert!(failure.message.contains(&format!("{silent}: no reply in time")), "{failure}");
        assert!(failure.message.contains(&format!("{closed}: connection refused")), "{failure}");
    }

    #[tokio::test]
    async fn what_may_have_been_done_is_not_done_again() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = format!("http://{}", listener.local_addr().unwrap());
        let rpc = Rpc::new(vec![silent.clone(), closed_port()], Security::default(), Duration::from_secs(1));
        let failure = rpc.call(Repeat::Unsafe, &GetLockRequest::default()).await.unwrap_err();
        assert_eq!(failure.code, exit::UNAVAILABLE);
        assert!(failure.message.contains(&format!("{silent}: no reply within")), "{failure}");
        assert!(failure.next.unwrap().contains("may or may not have taken effect"));
    }
}
