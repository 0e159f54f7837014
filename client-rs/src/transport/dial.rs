//! Connects to a server: tries one endpoint after the other, without waiting for hung ones.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::{ConnectRequest, ConnectResponse};
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
            tries.push(open(connector, server, index, limit));
        } else if tries.is_empty() {
            return Err(problem);
        }
        tokio::select! {
            Some(tried) = tries.next() => match tried {
                Ok(dialled) => return Ok(dialled),
                // The user can fix refused credentials; the other servers may be unreachable only temporarily.
                Err(_) if problem.is_unauthenticated() => {}
                Err(error) => problem = error,
            },
            () = sleep(stagger), if order.len() > 0 => {}
        }
    }
}

async fn open(connector: &dyn Connector, server: &Uri, index: usize, limit: Duration) -> Result<Dialled> {
    let connecting = async {
        let wire = connector.connect(server).await.map_err(Error::Unavailable)?;
        let (requests, outgoing) = mpsc::channel(MESSAGES_IN_QUEUE);
        // A frozen server still accepts connections; only its answer proves that it runs.
        let responses = ClientServiceClient::new(wire.clone())
            .max_decoding_message_size(LARGEST_ANSWER)
            .connect(ReceiverStream::new(outgoing))
            .await
            .map_err(Error::from)?
            .into_inner();
        Ok(Dialled { endpoint: index, wire, requests, responses })
    };
    let problem = match timeout(limit, connecting).await {
        Ok(Ok(opened)) => return Ok(opened),
        Ok(Err(error)) if error.is_unauthenticated() => return Err(error),
        Ok(Err(Error::Unavailable(problem))) => problem,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {limit:?}"),
    };
    Err(Error::Unavailable(format!("{server}: {problem}")))
}
