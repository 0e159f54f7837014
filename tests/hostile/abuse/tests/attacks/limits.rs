//! Floods from a caller with a quota.

use futures::future::join_all;
use tenure_abuse::{Attack, assert_no_leaks, many};
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{GetLockRequest, OpenSessionRequest, WatchRequest};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::service::Service;

const POLICY: &str = r#"
    [[roles.user]]
    verbs = ["acquire", "read", "watch"]
    [[grants]]
    identity = "token:*"
    roles = ["user"]
    [[limits]]
    identity = "token:ann"
    sessions = 10
    watches = 5
    [[limits]]
    identity = "token:bob"
    requests_per_second = 20
"#;

async fn channel(service: &Service) -> Channel {
    Endpoint::from_shared(format!("http://{}", service.target.address())).unwrap().connect().await.unwrap()
}

fn by<T>(service: &Service, name: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", service.bearer(name).parse().unwrap());
    request
}

/// The accepted requests; all others must be rejected as too many, with a retry delay.
fn accepted<T>(answers: Vec<Result<T, Status>>) -> Vec<T> {
    let accepted = |answer: Result<T, Status>| match answer {
        Ok(response) => Some(response),
        Err(rejected) => {
            assert_eq!(rejected.code(), Code::ResourceExhausted, "{rejected:?}");
            let advice = rejected.get_details_retry_info().and_then(|advice| advice.retry_delay);
            assert!(advice.is_some_and(|wait| !wait.is_zero()), "{rejected:?}");
            assert_no_leaks(rejected.message());
            None
        }
    };
    answers.into_iter().filter_map(accepted).collect()
}

#[tokio::test]
async fn sessions_and_watches_beyond_the_quota_are_rejected() {
    let service = Service::start(&["ann"], POLICY, |_| Vec::new()).await;
    let attack = async {
        let channel = channel(&service).await;
        let opened = (0..many(300, 10_000)).map(|at| {
            let (session_id, ttl) = (format!("s-{at}"), Some(prost_types::Duration { seconds: 60, nanos: 0 }));
            let request = OpenSessionRequest { session_id, ttl, ..OpenSessionRequest::default() };
            let request = by(&service, "ann", request);
            let mut sessions = SessionServiceClient::new(channel.clone());
            async move { sessions.open_session(request).await }
        });
        let sessions = accepted(join_all(opened).await).len();
        let watched = (0..many(100, 1_000)).map(|_| {
            let request = by(&service, "ann", WatchRequest::default());
            let mut watches = WatchServiceClient::new(channel.clone());
            async move { watches.watch(request).await }
        });
        // Each watch exists until the last one has been requested.
        (sessions, accepted(join_all(watched).await).len())
    };
    let accepted = service.target.run(Attack::named("floods beyond limits").may_change(), attack).await;
    assert_eq!(accepted, (10, 5));
}

#[tokio::test]
async fn requests_beyond_the_rate_limit_are_rejected() {
    let service = Service::start(&["bob"], POLICY, |_| Vec::new()).await;
    let attack = async || {
        let channel = channel(&service).await;
        let requests = (0..200).map(|_| {
            let request = by(&service, "bob", GetLockRequest { name: "job".into(), ..GetLockRequest::default() });
            let mut locks = LockServiceClient::new(channel.clone());
            async move { locks.get_lock(request).await }
        });
        accepted(join_all(requests).await).len()
    };
    let begun = std::time::Instant::now();
    let answered: usize =
        service.target.run_repeatedly(Attack::named("too many requests"), attack).await.into_iter().sum();
    let most = 20 + 20 * (begun.elapsed().as_secs() as usize + 1);
    assert!((1..=most).contains(&answered), "{answered} requests were answered, the limit is {most}");
}
