//! The HTTP port for operators: `/livez` shows that the process runs, `/readyz` whether it can serve and why not,
//! `/metrics` the metrics; optionally the console.

pub mod console;
mod http;

use std::io;
use std::net::SocketAddr;

use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::admin::console::Console;
use crate::node::readiness::Readiness;
use crate::telemetry::metrics::{CLASSIC_MEDIA_TYPE, MEDIA_TYPE, Metrics};

/// The bound port.
pub struct Admin {
    listener: TcpListener,
    readiness: watch::Receiver<Readiness>,
    metrics: Metrics,
}

impl Admin {
    /// Binds the port. Connections wait until it is served.
    ///
    /// # Errors
    /// If the address is not available.
    pub async fn bind(
        address: SocketAddr,
        readiness: watch::Receiver<Readiness>,
        metrics: Metrics,
    ) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, readiness, metrics })
    }

    /// The bound address.
    ///
    /// # Errors
    /// As returned by the operating system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves, optionally with a console, until `stop`, then completes the requests in progress. Callers should use a
    /// timeout, because a client may read arbitrarily slowly.
    pub fn serve(self, console: Option<Console>, stop: CancellationToken) -> BoxFuture<'static, ()> {
        let router = Router::new()
            .route("/livez", get(|| async { "alive\n" }))
            .route("/readyz", get(readyz))
            .with_state(self.readiness)
            .merge(Router::new().route("/metrics", get(metrics)).with_state(self.metrics));
        let router = router.merge(console.map(Console::router).unwrap_or_default());
        http::serve(self.listener, router, stop).boxed()
    }
}

/// Runs on a blocking thread, since it visits every watcher and reads process statistics: clients must not wait for it.
async fn metrics(State(metrics): State<Metrics>, headers: HeaderMap) -> impl IntoResponse {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let (kind, text): (_, fn(&Metrics) -> String) =
        if wants_classic(accept) { (CLASSIC_MEDIA_TYPE, Metrics::classic_text) } else { (MEDIA_TYPE, Metrics::text) };
    match tokio::task::spawn_blocking(move || text(&metrics)).await {
        Ok(text) => ([(CONTENT_TYPE, kind)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn wants_classic(accept: &str) -> bool {
    accept.contains("text/plain") && !accept.contains("application/openmetrics-text")
}

async fn readyz(State(readiness): State<watch::Receiver<Readiness>>) -> impl IntoResponse {
    let readiness = readiness.borrow().clone();
    let ready = readiness.is_ready();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let reasons = if ready { vec![] } else { vec![readiness.to_string()] };
    (status, Json(json!({ "ready": ready, "reasons": reasons })))
}
