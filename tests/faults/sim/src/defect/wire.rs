//! A proxy between the clients of a host and the servers that alters messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::stream;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use prost::Message;
use tenure_proto::v1;
use tonic::body::Body;
use tonic::{Code, Status};

use crate::defect::{Defect, lock};

/// Size of the prefix of each gRPC message: whether it is compressed, and its length.
const PREFIX: usize = 5;

const ACQUIRE: &str = "/tenure.v1.LockService/Acquire";
const RELEASE: &str = "/tenure.v1.LockService/Release";
const RENEW: &str = "/tenure.v1.SessionService/Renew";
const STREAM: &str = "/tenure.v1.ClientService/Stream";

/// The proxy of one client host.
pub struct Proxy {
    defect: Defect,
    /// The TTLs of sessions as replied to plain renewals.
    ttls: Mutex<BTreeMap<String, prost_types::Duration>>,
}

impl Proxy {
    /// Creates the proxy of a client host.
    #[must_use]
    pub fn new(defect: Defect) -> Self {
        Self { defect, ttls: Mutex::default() }
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
            (Defect::TokenIsClaimId, ACQUIRE) => Ok(call(request).await?.map(|body| altered(body, token_from_claim))),
            (_, STREAM) => {
                // Resumed watches that have not received a message yet, by command id.
                let resumed = Arc::new(Mutex::new(BTreeSet::new()));
                let (proxy, resumes) = (self.clone(), resumed.clone());
                let request = request.map(|body| altered(body, move |sent| proxy.send(sent, &mut lock(&resumes))));
                let response = call(request).await?;
                Ok(response.map(|body| altered(body, move |message| self.receive(message, &mut lock(&resumed)))))
            }
            _ => call(request).await,
        }
    }

    /// Accepts a renewal that the server has rejected, if an earlier one was accepted.
    async fn renewed(&self, session: String, response: Response<Body>) -> Result<Response<Body>, Status> {
        if Status::from_header_map(response.headers()).is_some_and(|status| status.code() != Code::Ok) {
            let ttl = lock(&self.ttls).get(&session).copied();
            return Ok(ttl.map_or(response, |ttl| reply(&v1::RenewResponse { ttl: Some(ttl) })));
        }
        let (parts, body) = response.into_parts();
        let body = body.collect().await?;
        let trailers = body.trailers().cloned();
        let body = body.to_bytes();
        if let Some(ttl) = body.get(PREFIX..).and_then(|body| v1::RenewResponse::decode(body).ok()?.ttl) {
            lock(&self.ttls).insert(session, ttl);
        }
        Ok(Response::from_parts(parts, whole(body, trailers.unwrap_or_default())))
    }

    fn send(&self, message: &mut v1::StreamRequest, resumed: &mut BTreeSet<u64>) {
        for command in &mut message.commands {
            if let Some(v1::command::Kind::Watch(watch)) = &mut command.kind
                && watch.after_revision > 0
            {
                watch.after_revision += u64::from(self.defect == Defect::WatchResumesTooFar);
                resumed.insert(command.id);
            }
        }
    }

    fn receive(&self, message: &mut v1::StreamResponse, resumed: &mut BTreeSet<u64>) {
        use v1::answer::Kind;

        if self.defect == Defect::WatchSkips {
            let is_events = |answer: &v1::Answer| match &answer.kind {
                Some(Kind::Watch(watch)) => matches!(watch.kind, Some(v1::watch_response::Kind::Events(_))),
                _ => false,
            };
            message.answers.retain(|answer| !(is_events(answer) && resumed.remove(&answer.id)));
        }
        for answer in &mut message.answers {
            match &mut answer.kind {
                Some(Kind::Acquire(acquired)) if self.defect == Defect::TokenIsClaimId => token_from_claim(acquired),
                Some(Kind::KeepAlive(kept)) if self.defect == Defect::TtlOverstated => {
                    kept.sessions.iter_mut().for_each(|session| double(&mut session.ttl));
                }
                Some(Kind::OpenSession(opened)) => self.alter_session(opened.session.as_mut()),
                Some(Kind::AttachedSession(attached)) => self.alter_session(attached.session.as_mut()),
                _ => {}
            }
        }
    }

    fn alter_session(&self, session: Option<&mut v1::Session>) {
        let Some(session) = session else { return };
        match self.defect {
            Defect::TtlOverstated => double(&mut session.ttl),
            Defect::GraceForgotten => session.disconnect_grace = None,
            Defect::GraceCutShort => double(&mut session.disconnect_grace),
            _ => {}
        }
    }
}

fn double(duration: &mut Option<prost_types::Duration>) {
    let doubled = duration.and_then(|duration| Duration::try_from(duration).ok()).map(|duration| duration * 2);
    *duration = doubled.and_then(|duration| duration.try_into().ok());
}

/// The number of a claim that has waited is lower than its token.
fn token_from_claim(acquired: &mut v1::AcquireResponse) {
    if let Some(claim) = acquired.claim.as_mut().filter(|_| acquired.acquired) {
        (acquired.token, claim.token) = (claim.id, claim.id);
    }
}

/// A body of altered messages.
fn altered<M: Message + Default>(body: Body, mut alter: impl FnMut(&mut M) + Send + 'static) -> Body {
    let mut unread = BytesMut::new();
    Body::new(body.map_frame(move |frame| {
        frame.map_data(|data| {
            unread.extend_from_slice(&data);
            let mut written = BytesMut::new();
            while let Some(mut message) = next(&mut unread) {
                alter(&mut message);
                put(&mut written, &message);
            }
            written.freeze()
        })
    }))
}

/// Takes the next message, once it is complete.
fn next<M: Message + Default>(unread: &mut BytesMut) -> Option<M> {
    let len = u32::from_be_bytes(unread.get(1..PREFIX)?.try_into().ok()?) as usize;
    if unread.len() < PREFIX + len {
        return None;
    }
    unread.advance(PREFIX);
    Some(M::decode(unread.split_to(len)).expect("a message of this type"))
}

fn put(written: &mut BytesMut, message: &impl Message) {
    written.put_u8(0);
    written.put_u32(u32::try_from(message.encoded_len()).expect("a short message"));
    message.encode(written).expect("enough space");
}

/// A successful reply to a plain call.
fn reply(message: &impl Message) -> Response<Body> {
    let mut body = BytesMut::new();
    put(&mut body, message);
    let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let mut response = Response::new(whole(body.freeze(), trailers));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

fn whole(body: Bytes, trailers: HeaderMap) -> Body {
    let frames = [Frame::data(body), Frame::trailers(trailers)];
    Body::new(StreamBody::new(stream::iter(frames.map(Ok::<_, Status>))))
}
