//! Reloads changed certificates, tokens, keys and policies while the server runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::metrics::{Files, RELOADED};
use crate::auth::Access;
use crate::transport::Tls;

/// The polling interval of files.
const LOOK: Duration = Duration::from_secs(2);

/// The interval at which remote keys are fetched.
const FETCH: Duration = Duration::from_secs(60);

/// The interval at which fetching keys is retried after a failure.
const FETCH_AGAIN: Duration = Duration::from_secs(5);

/// The last error of one kind of data. Each error is logged once.
struct Watched {
    what: &'static str,
    counts: Files,
    told: Option<String>,
}

impl Watched {
    fn new(what: &'static str, counts: &Files) -> Self {
        Self { what, counts: counts.clone(), told: None }
    }

    /// Logs and counts the result of a reload; returns whether the data has changed.
    fn tell(&mut self, reloaded: Result<bool, String>) -> bool {
        let what = self.what;
        match reloaded {
            Ok(has_changed) => {
                self.told = None;
                if has_changed {
                    self.counts.reloaded(what);
                    tracing::info!(what, "reloaded");
                }
                has_changed
            }
            Err(problem) => {
                self.counts.refused(what);
                if self.told.as_ref() != Some(&problem) {
                    tracing::error!(what, problem, "cannot be reloaded: going on with those from before");
                }
                self.told = Some(problem);
                false
            }
        }
    }
}

/// Reloads periodically and on request. Never returns.
pub(crate) async fn keep_up(tls: Option<Arc<Tls>>, access: Access, counts: Files, asked: Arc<Notify>) {
    let [mut certificates, mut tokens, mut keys, mut policy] = RELOADED.map(|what| Watched::new(what, &counts));
    if let Some(tls) = &tls {
        counts.expires(tls.expiry());
    }
    let mut fetched = Instant::now();
    loop {
        let is_asked = tokio::select! {
            () = sleep(LOOK) => false,
            () = asked.notified() => true,
        };
        if is_asked {
            tracing::info!("reading certificates, tokens, keys and policy again, as asked");
        }
        if let Some(tls) = &tls
            && certificates.tell(tls.reload().map_err(|error| error.to_string()))
        {
            counts.expires(tls.expiry());
            access.certificates_changed();
        }
        tokens.tell(access.reload_tokens());
        policy.tell(access.reload_policy());
        access.forget_idle();
        let pause = if keys.told.is_some() || !access.has_keys() { FETCH_AGAIN } else { FETCH };
        if is_asked || access.has_near_keys() || fetched.elapsed() >= pause {
            keys.tell(access.reload_keys().await);
            fetched = Instant::now();
        }
    }
}
