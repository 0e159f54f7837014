//! Takes over certificates, tokens, keys and policies that have changed, while the server runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::metrics::{Files, RELOADED};
use crate::auth::Access;
use crate::transport::Tls;

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// How often keys are fetched that may be elsewhere.
const FETCH: Duration = Duration::from_secs(60);

/// How often they are asked for as long as they cannot be had.
const FETCH_AGAIN: Duration = Duration::from_secs(5);

/// What was wrong with something when it was looked at last. It is told once.
struct Watched {
    what: &'static str,
    counts: Files,
    told: Option<String>,
}

impl Watched {
    fn new(what: &'static str, counts: &Files) -> Self {
        Self { what, counts: counts.clone(), told: None }
    }

    /// Says what came of it, and whether it has changed.
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

/// Looks at the files every so often, and when it is asked to. Never ends.
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
