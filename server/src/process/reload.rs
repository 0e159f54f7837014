//! Reloads changed certificates, tokens, keys and policies while the server runs.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::metrics::Files;
use crate::auth::Access;
use crate::transport::Tls;

/// The polling interval of files.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The interval at which remote keys are fetched.
const FETCH_INTERVAL: Duration = Duration::from_secs(60);

/// The interval at which fetching keys is retried after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The last error of one kind of data. Each error is logged once.
struct Watched {
    what: &'static str,
    reloads: Counter,
    refused: Counter,
    last_error: Option<String>,
}

impl Watched {
    fn new(what: &'static str, counts: &Files) -> Self {
        let kind = [("what", what)];
        let (reloads, refused) = (counts.done.get_or_create_owned(&kind), counts.refused.get_or_create_owned(&kind));
        Self { what, reloads, refused, last_error: None }
    }

    /// Logs and counts the result of a reload; returns whether the data has changed.
    fn record(&mut self, reloaded: Result<bool, String>) -> bool {
        let what = self.what;
        match reloaded {
            Ok(has_changed) => {
                self.last_error = None;
                if has_changed {
                    self.reloads.inc();
                    tracing::info!(what, "reloaded");
                }
                has_changed
            }
            Err(problem) => {
                self.refused.inc();
                if self.last_error.as_ref() != Some(&problem) {
                    tracing::error!(what, problem, "cannot be reloaded: the previous ones stay in use");
                }
                self.last_error = Some(problem);
                false
            }
        }
    }
}

/// Reloads periodically and on request. Never returns.
pub(crate) async fn run(tls: Option<Arc<Tls>>, access: Access, counts: Files, requested: Arc<Notify>) {
    let [mut certificates, mut tokens, mut keys, mut policy] =
        ["certificates", "tokens", "keys", "policy"].map(|what| Watched::new(what, &counts));
    if let Some(tls) = &tls {
        counts.expires(tls.expiry());
    }
    let mut fetched = Instant::now();
    loop {
        let is_requested = tokio::select! {
            () = sleep(POLL_INTERVAL) => false,
            () = requested.notified() => true,
        };
        if is_requested {
            tracing::info!("reloading certificates, tokens, keys and policy on request");
        }
        if let Some(tls) = &tls
            && certificates.record(tls.reload().map_err(|error| error.to_string()))
        {
            counts.expires(tls.expiry());
            access.certificates_changed();
        }
        tokens.record(access.reload_tokens());
        policy.record(access.reload_policy());
        access.forget_idle();
        let pause = if keys.last_error.is_some() || !access.has_keys() { RETRY_INTERVAL } else { FETCH_INTERVAL };
        if is_requested || access.has_near_keys() || fetched.elapsed() >= pause {
            keys.record(access.reload_keys().await);
            fetched = Instant::now();
        }
    }
}
