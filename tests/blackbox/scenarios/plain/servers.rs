//! Spreads calls over servers: each call goes to a random server, and to the next if there is no reply.

use std::time::Duration;

use rand::seq::SliceRandom;
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};

use crate::reply::{Failure, reason};

/// The time limit of a call to one server, in addition to the call's own wait for a lock.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval of a connection's probes during a call: a wait may be long, and its server gone without closing the
/// connection.
const PROBE: Duration = Duration::from_millis(500);

/// The number of rounds over all servers before the call fails ...
const ROUNDS: usize = 50;

/// ... and the pause between two rounds.
const PAUSE: Duration = Duration::from_millis(200);

/// The servers, and the namespace of all calls.
pub(crate) struct Servers {
    channels: Vec<Channel>,
    pub(crate) namespace: String,
}

impl Servers {
    /// Creates channels that connect on first use. `http://` may be omitted.
    pub(crate) fn connect(endpoints: &[String], namespace: String) -> Result<Self, Failure> {
        let channels: Result<Vec<Channel>, Failure> = endpoints
            .iter()
            .map(|endpoint| {
                let address = endpoint.strip_prefix("http://").unwrap_or(endpoint);
                let parsed = Endpoint::from_shared(format!("http://{address}")).ok();
                let endpoint = parsed.filter(|_| !address.contains('/')).ok_or(Failure::Endpoints)?;
                let endpoint = endpoint.connect_timeout(CALL_TIMEOUT).keep_alive_timeout(CALL_TIMEOUT);
                Ok(endpoint.http2_keep_alive_interval(PROBE).connect_lazy())
            })
            .collect();
        let channels = channels?;
        if channels.is_empty() { Err(Failure::Endpoints) } else { Ok(Self { channels, namespace }) }
    }

    /// The index of a random server, different from `avoided` if possible.
    pub(crate) fn random(&self, avoided: Option<usize>) -> usize {
        self.shuffled(avoided).first().copied().unwrap_or_default()
    }

    /// All servers in random order, but with `avoided` last.
    fn shuffled(&self, avoided: Option<usize>) -> Vec<usize> {
        let mut servers: Vec<usize> = (0..self.channels.len()).collect();
        servers.shuffle(&mut rand::rng());
        servers.sort_by_key(|server| avoided == Some(*server));
        servers
    }

    /// Sends a call to one server, once.
    pub(crate) async fn send_one<T>(
        &self,
        server: usize,
        limit: Duration,
        call: impl AsyncFnOnce(usize, Channel) -> Result<Response<T>, Status>,
    ) -> Result<T, Status> {
        let channel = self.channels.get(server).cloned().ok_or_else(|| Status::unavailable("there is no server"))?;
        let response = timeout(limit, call(server, channel)).await;
        response.unwrap_or_else(|_| Err(Status::unavailable("no reply in time"))).map(Response::into_inner)
    }

    /// Sends a call to one server after the other until one replies. The request must name its session, so that it can
    /// be repeated: a call without a reply may have taken effect.
    pub(crate) async fn send<T>(
        &self,
        avoided: Option<usize>,
        limit: Duration,
        call: impl AsyncFn(usize, Channel) -> Result<Response<T>, Status>,
    ) -> Result<T, Failure> {
        let mut last = Status::unavailable("no server was called");
        for _ in 0..ROUNDS {
            for server in self.shuffled(avoided) {
                match self.send_one(server, limit, &call).await {
                    Ok(response) => return Ok(response),
                    Err(status) if is_final(&status) => return Err(status.into()),
                    Err(status) => last = status,
                }
            }
            sleep(PAUSE).await;
        }
        Err(last.into())
    }
}

/// Whether other servers would reject the call as well. A status without a reason is not from a Tenure server, but from
/// the path to it.
pub(crate) fn is_final(status: &Status) -> bool {
    let is_transient = matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted);
    // Right after a cancel, a server that has not seen it yet may reject a new Acquire.
    reason(status).is_some_and(|reason| !is_transient && reason != "ACQUIRE_CANCELLED")
}
