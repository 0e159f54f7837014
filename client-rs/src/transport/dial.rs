//! Connects to a server: tries one endpoint after the other, without waiting for hung ones.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::{ConnectRequest, ConnectResponse, ErrorReason};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Uri;

use super::connector::Connector;
use crate::connection::{LARGEST_ANSWER, Wire};
use crate::error::{Error, Result};

/// The next endpoint is tried in parallel when one has not answered for this part of the connect timeout.
const STAGGER_DIVISOR: u32 = 4;
/// The shortest time until the next endpoint is tried in parallel.
const SHORTEST_STAGGER: Duration = Duration::from_millis(10);
/// How many messages may be queued for the transport. Few, because their changes can no longer be merged into larger
/// messages.
const MESSAGES_IN_QUEUE: usize = 2;

/// An open stream to one server.
#[derive(Debug)]
pub(crate) struct Dialled {
    /// The index of the endpoint.
    pub(crate) endpoint: usize,
    /// The connection, for plain calls.
    pub(crate) wire: Wire,
    /// The messages to the server.
    pub(crate) requests: mpsc::Sender<ConnectRequest>,
    /// The messages from the server.
    pub(crate) responses: Streaming<ConnectResponse>,
}

/// Tries these servers once, in this order: the next one when one fails or takes long. Returns the first that opens a
/// stream. The error is that of the last one that failed, unless one refused the credentials. `limit` bounds each
/// attempt; after `stagger` at most, the next one is tried in parallel.
pub(crate) async fn dial(
    connector: &dyn Connector,
    servers: &[Uri],
    order: Vec<usize>,
    limit: Duration,
    stagger: Duration,
) -> Result<Dialled> {
    let stagger = stagger.min(limit / STAGGER_DIVISOR).max(SHORTEST_STAGGER);
    let mut order = order.into_iter();
    let mut tries = FuturesUnordered::new();
    let mut problem = Error::Unavailable("there are no endpoints".to_owned());
    loop {
        if let Some((index, server)) = order.next().and_then(|index| Some((index, servers.get(index)?))) {
            tries.push(async move {
                let unreachable = |problem| Error::Unavailable(format!("{server}: {problem}"));
                match timeout(limit, open(connector, server, index)).await {
                    Ok(Err(Error::Unavailable(problem))) => Err(unreachable(problem)),
                    Ok(Err(error)) if !is_unauthenticated(&error) => Err(unreachable(error.to_string())),
                    Ok(opened) => opened,
                    Err(_) => Err(unreachable(format!("no answer within {limit:?}"))),
                }
            });
        } else if tries.is_empty() {
            return Err(problem);
        }
        tokio::select! {
            Some(tried) = tries.next() => match tried {
                Ok(dialled) => return Ok(dialled),
                // The user can fix refused credentials; the other servers may be unreachable only temporarily.
                Err(_) if is_unauthenticated(&problem) => {}
                Err(error) => problem = error,
            },
            () = sleep(stagger), if order.len() > 0 => {}
        }
    }
}

async fn open(connector: &dyn Connector, server: &Uri, endpoint: usize) -> Result<Dialled> {
    let wire = connector.connect(server).await.map_err(Error::Unavailable)?;
    let (requests, outgoing) = mpsc::channel(MESSAGES_IN_QUEUE);
    let mut service = ClientServiceClient::new(wire.clone()).max_decoding_message_size(LARGEST_ANSWER);
    // A frozen server still accepts connections; only its answer proves that it runs.
    let responses = service.connect(ReceiverStream::new(outgoing)).await?.into_inner();
    Ok(Dialled { endpoint, wire, requests, responses })
}

fn is_unauthenticated(error: &Error) -> bool {
    error.reason() == Some(ErrorReason::Unauthenticated)
}
