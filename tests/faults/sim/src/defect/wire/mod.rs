//! A proxy between the clients of a host and the servers that alters messages.

mod declared;
mod frames;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::channel::mpsc::unbounded;
use http::{Request, Response};
use http_body_util::BodyExt;
use prost::Message;
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind as Watched;
use tonic::body::Body;
use tonic::{Code, Status};

use self::declared::Declared;
use self::frames::{PREFIX, altered, reply, whole, with_further};
use crate::defect::{Defect, lock};

const ACQUIRE: &str = "/tenure.v1.LockService/Acquire";
const RELEASE: &str = "/tenure.v1.LockService/Release";
const RENEW: &str = "/tenure.v1.SessionService/Renew";
const CONNECT: &str = "/tenure.v1.ClientService/Connect";
const WATCH: &str = "/tenure.v1.WatchService/Watch";

/// The proxy of one client host.
pub struct Proxy {
    defect: Defect,
    /// The TTLs of sessions as replied to plain renewals.
    renewals: Mutex<BTreeMap<String, v1::RenewResponse>>,
    /// The streams of the host's client.
    declared: Mutex<Declared>,
}

impl Proxy {
    /// Creates the proxy of a client host.
    #[must_use]
    pub fn new(defect: Defect) -> Self {
        Self { defect, renewals: Mutex::default(), declared: Mutex::new(Declared::new(defect)) }
    }

    /// Forwards a request by `call`, and returns the response for the client.
    ///
    /// # Errors
    /// As `call`.
    pub async fn forward<F>(
        self: Arc<Self>,
        request: Request<Body>,
        call: impl FnOnce(Request<Body>) -> F,
    ) -> Result<Response<Body>, Status>
    where
        F: Future<Output = Result<Response<Body>, Status>> + Send + 'static,
    {
        match (self.defect, request.uri().path()) {
            (Defect::ReleasedEarly, RELEASE) => {
                let released = call(request);
                tokio::spawn(async move {
                    if let Ok(response) = released.await {
                        let _ = response.into_body().collect().await;
                    }
                });
                Ok(reply(&v1::ReleaseResponse::default()))
            }
            (Defect::RenewalUnchecked, RENEW) => {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let renewal = v1::RenewRequest::decode(body.slice(PREFIX..)).unwrap_or_default();
                let response = call(Request::from_parts(parts, Body::new(http_body_util::Full::new(body)))).await?;
                self.renewed(renewal.session_id, response).await
            }
            (Defect::TokenIsClaimId, ACQUIRE) => {
                Ok(call(request).await?.map(|body| altered(body, |acquired| [token_from_claim(acquired)])))
            }
            (Defect::WatchResumesTooFar | Defect::WatchSkips, WATCH) => self.watch(request, call).await,
            (_, CONNECT) => {
                let (further, received) = unbounded();
                let (sent, proxy) = (self.clone(), self);
                let send = move |message| lock(&sent.declared).send(message, &further);
                let response = call(request.map(|body| altered(body, send))).await?;
                let receive = move |message| lock(&proxy.declared).receive(message);
                Ok(response.map(|body| with_further(altered(body, receive), received)))
            }
            _ => call(request).await,
        }
    }

    /// Accepts a renewal that the server has rejected, if an earlier one was accepted.
    async fn renewed(&self, session: String, response: Response<Body>) -> Result<Response<Body>, Status> {
        if Status::from_header_map(response.headers()).is_some_and(|status| status.code() != Code::Ok) {
            return Ok(lock(&self.renewals).get(&session).map_or(response, reply));
        }
        let (parts, body) = response.into_parts();
        let body = body.collect().await?;
        let trailers = body.trailers().cloned();
        let body = body.to_bytes();
        if let Some(renewed) = body.get(PREFIX..).and_then(|body| v1::RenewResponse::decode(body).ok()) {
            lock(&self.renewals).insert(session, renewed);
        }
        Ok(Response::from_parts(parts, whole(body, trailers.unwrap_or_default())))
    }

    /// Alters a watch that is resumed.
    async fn watch<F>(
        &self,
        request: Request<Body>,
        call: impl FnOnce(Request<Body>) -> F,
    ) -> Result<Response<Body>, Status>
    where
        F: Future<Output = Result<Response<Body>, Status>> + Send + 'static,
    {
        let skipped = u64::from(self.defect == Defect::WatchResumesTooFar);
        // Whether the next message with events is the first one after those before the watch was resumed.
        let is_resumed = Arc::new(AtomicBool::new(false));
        let resumes = is_resumed.clone();
        let response = call(request.map(|body| {
            altered(body, move |mut watch: v1::WatchRequest| {
                if watch.after_revision > 0 {
                    watch.after_revision += skipped;
                    resumes.store(true, Ordering::Relaxed);
                }
                [watch]
            })
        }))
        .await?;
        let skips = self.defect == Defect::WatchSkips;
        let receive = move |message: v1::WatchResponse| {
            let has_events = matches!(message.kind, Some(Watched::Events(_)));
            let is_skipped = skips && has_events && is_resumed.swap(false, Ordering::Relaxed);
            (!is_skipped).then_some(message)
        };
        Ok(response.map(|body| altered(body, receive)))
    }
}

/// The number of a claim that has waited is lower than its token.
fn token_from_claim(mut acquired: v1::AcquireResponse) -> v1::AcquireResponse {
    if let Some(claim) = acquired.claim.as_mut().filter(|_| acquired.acquired) {
        (acquired.token, claim.token) = (claim.id, claim.id);
    }
    acquired
}
