//! Finding a server: one endpoint after the other, without waiting for those that hang.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::{StreamRequest, StreamResponse};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

use crate::calls::LARGEST_ANSWER;
use crate::error::{Error, Result};
use crate::options::ClientOptions;

/// An idle connection is probed this often, so that one that died in silence is noticed even without a session.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// How long the answer to a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The next endpoint is tried beside one that has not answered for this part of the connect time-out.
const STAGGER_DIVISOR: u32 = 4;
/// But not faster than this.
const SHORTEST_STAGGER: Duration = Duration::from_millis(10);
/// How many messages may wait for the transport. Few: what waits here cannot be gathered into larger messages any more.
const MESSAGES_IN_QUEUE: usize = 2;

/// How long to wait for servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// How long connecting to one server may take.
    pub(crate) limit: Duration,
    /// After how long the next one is tried beside it, at most.
    pub(crate) stagger: Duration,
}

/// An open stream to one server.
#[derive(Debug)]
pub(crate) struct Dialled {
    /// Which endpoint it is.
    pub(crate) endpoint: usize,
    /// The connection, for plain calls.
    pub(crate) channel: Channel,
    /// Towards the server.
    pub(crate) requests: mpsc::Sender<StreamRequest>,
    /// From the server.
    pub(crate) responses: Streaming<StreamResponse>,
}

/// The endpoints of the options, checked.
pub(crate) fn endpoints(options: &ClientOptions) -> Result<Vec<Endpoint>> {
    let endpoints = options.urls()?.into_iter().map(|url| {
        Endpoint::from(url)
            .connect_timeout(options.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(PROBE_INTERVAL))
            .http2_keep_alive_interval(PROBE_INTERVAL)
            .keep_alive_timeout(PROBE_TIMEOUT)
            .keep_alive_while_idle(true)
    });
    Ok(endpoints.collect())
}

/// Tries these endpoints once, in this order: the next as soon as one fails or takes long. The first that opens a stream is
/// taken. The error is that of the last one that failed.
pub(crate) async fn dial(endpoints: &[Endpoint], order: Vec<usize>, pace: Pace) -> Result<Dialled> {
    let stagger = pace.stagger.min(pace.limit / STAGGER_DIVISOR).max(SHORTEST_STAGGER);
    let mut order = order.into_iter();
    let mut tries = FuturesUnordered::new();
    let mut problem = Error::Unavailable("there are no endpoints".to_owned());
    loop {
        if let Some((index, endpoint)) = order.next().and_then(|index| Some((index, endpoints.get(index)?))) {
            tries.push(open(endpoint, index, pace.limit));
        } else if tries.is_empty() {
            return Err(problem);
        }
        tokio::select! {
            Some(tried) = tries.next() => match tried {
                Ok(dialled) => return Ok(dialled),
                Err(error) => problem = error,
            },
            () = sleep(stagger), if order.len() > 0 => {}
        }
    }
}

async fn open(endpoint: &Endpoint, index: usize, limit: Duration) -> Result<Dialled> {
    let uri = endpoint.uri();
    let connecting = async {
        let channel = endpoint.connect().await.map_err(|error| unreachable_error(uri, &error))?;
        let (requests, outgoing) = mpsc::channel(MESSAGES_IN_QUEUE);
        // A server that is frozen still accepts connections; only its answer tells that it lives.
        let responses = ClientServiceClient::new(channel.clone())
            .max_decoding_message_size(LARGEST_ANSWER)
            .stream(ReceiverStream::new(outgoing))
            .await
            .map_err(|status| Error::Unavailable(format!("{uri}: {}", status.message())))?
            .into_inner();
        Ok(Dialled { endpoint: index, channel, requests, responses })
    };
    match timeout(limit, connecting).await {
        Ok(opened) => opened,
        Err(_) => Err(Error::Unavailable(format!("{uri}: no answer within {limit:?}"))),
    }
}

/// The error with its causes: the outermost one of the transport only says "transport error".
fn unreachable_error(uri: &tonic::transport::Uri, error: &tonic::transport::Error) -> Error {
    let mut text = format!("{uri}: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    Error::Unavailable(text)
}
