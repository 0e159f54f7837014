//! Elections.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenure_client::{Error, Hold};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinHandle;

use crate::answer::{Answer, Failure};
use crate::request::Lead;
use crate::things::Things;

/// A candidate that leads whenever it is elected.
pub(crate) struct Leading {
    terms: Arc<Terms>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The state that the bodies report.
#[derive(Default)]
struct Terms {
    now: watch::Sender<Term>,
    resign: Notify,
}

#[derive(Clone, Default)]
struct Term {
    /// The token of the running body.
    token: Option<u64>,
    /// The number of bodies that have begun.
    begun: u64,
    /// The error after which no further term begins.
    failed: Option<Error>,
}

/// A running body. On drop it reports its end, also when it is cancelled.
struct Body<'a>(&'a Terms);

impl Drop for Body<'_> {
    fn drop(&mut self) {
        self.0.now.send_modify(|term| term.token = None);
    }
}

impl Terms {
    async fn body(&self, hold: Hold) {
        let resigned = self.resign.notified();
        tokio::pin!(resigned);
        // From here on `resign` reaches it.
        resigned.as_mut().enable();
        let _body = Body(self);
        self.now.send_modify(|term| {
            term.token = Some(hold.token());
            term.begun += 1;
        });
        resigned.await;
    }
}

pub(crate) fn lead(lead: Lead, things: &Things) -> Answer {
    let mut election = things.clients.get(&lead.client)?.election(lead.name);
    let options = &lead.options;
    if let Some(ttl) = options.ttl_ms {
        election = election.ttl(Duration::from_millis(ttl));
    }
    if let Some(grace) = options.disconnect_grace_ms {
        election = election.disconnect_grace(Duration::from_millis(grace));
    }
    if let Some(owner) = &options.owner {
        election = election.owner(owner);
    }
    let terms = Arc::new(Terms::default());
    let shared_terms = Arc::clone(&terms);
    let task = tokio::spawn(async move {
        let Err(error) = election.lead(|hold| shared_terms.body(hold)).await;
        shared_terms.now.send_modify(|term| term.failed = Some(error));
    });
    things.elections.put(lead.election, Leading { terms, task: Mutex::new(Some(task)) });
    Ok(json!({}))
}

impl Leading {
    async fn until(&self, is_met: impl FnMut(&Term) -> bool) -> Result<Term, Failure> {
        let mut now = self.terms.now.subscribe();
        let term = now.wait_for(is_met).await.map(|term| term.clone()).unwrap_or_default();
        term.failed.clone().map_or(Ok(term), |error| Err(error.into()))
    }

    pub(crate) async fn await_leading(&self) -> Answer {
        let term = self.until(|term| term.token.is_some() || term.failed.is_some()).await?;
        Ok(json!({"token": term.token, "terms": term.begun}))
    }

    pub(crate) async fn await_not_leading(&self) -> Answer {
        self.until(|term| term.token.is_none()).await?;
        Ok(json!({}))
    }

    pub(crate) fn resign(&self) -> Answer {
        self.terms.resign.notify_waiters();
        Ok(json!({}))
    }

    pub(crate) async fn stop(&self) -> Answer {
        if let Some(task) = self.task.lock().await.take() {
            task.abort();
            // Cancellation is not a failure.
            let _ = task.await;
        }
        Ok(json!({}))
    }
}
