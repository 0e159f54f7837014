//! Serves HTTP to operators within limits, so that its clients cannot exhaust the descriptors and memory that gRPC
//! clients need.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use futures::StreamExt;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;
use tower::Service;

use crate::limits::Buffers;
use crate::transport::metrics::Connections;
use crate::transport::{self, Accounts, ConnectionLimits};

/// Timeout for a request head (in HTTP/1 including the idle time before it), and the interval and timeout of HTTP/2
/// pings.
const ASKING: Duration = Duration::from_secs(10);

/// Connection limits. A monitoring system needs few connections; a proxy in front of a console has those of all its
/// users.
const LIMITS: ConnectionLimits = ConnectionLimits { connections: 1_024, of_one_address: 256, greeting: ASKING };

/// The maximum number of concurrent requests on one HTTP/2 connection.
const STREAMS: u32 = 64;

/// The pause after a failed accept, usually for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until `stop`, then completes the requests in progress.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let mut services = router.into_make_service_with_connect_info::<SocketAddr>();
    // Load balancers may probe over HTTP/2.
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(ASKING);
    http.http2().timer(TokioTimer::new()).keep_alive_interval(ASKING).keep_alive_timeout(ASKING);
    http.http2().max_concurrent_streams(STREAMS);
    let graceful = GracefulShutdown::new();
    {
        // These connections are not part of the client connection metrics.
        let (counts, accounts) = (Connections::default(), Accounts::new(&Buffers::default()));
        let mut connections = pin!(transport::connections(listener, None, LIMITS, counts, accounts));
        while let Some(Some(connection)) = stop.run_until_cancelled(connections.next()).await {
            let connection = match connection {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::debug!(%error, "cannot accept an admin connection");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let Some(address) = connection.connect_info().address else { continue };
            let service: Result<_, Infallible> = services.call(address).await;
            let Ok(service) = service;
            let serving = http.serve_connection(TokioIo::new(connection), TowerToHyperService::new(service));
            let serving = graceful.watch(serving.into_owned());
            tokio::spawn(async move {
                if let Err(error) = serving.await {
                    tracing::debug!(%error, "an admin connection failed");
                }
            });
        }
    }
    graceful.shutdown().await;
}
