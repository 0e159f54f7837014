//! Floods from a caller with a quota.

use futures::future::join_all;
use tenure_abuse::{Attack, assert_discreet, many};
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
    Endpoint::from_shared(format!("http://{}", service.judge.address())).unwrap().connect().await.unwrap()
}

fn by<T>(service: &Service, name: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", service.bearer(name).parse().unwrap());
    request
}

/// The accepted requests; all others must be rejected as too many, with a retry delay.
fn given<T>(answers: Vec<Result<T, Status>>) -> Vec<T> {
    let is_given = |answer: Result<T, Status>| match answer {
        Ok(given) => Some(given),
        Err(refused) => {
            assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
            let advice = refused.get_details_retry_info().and_then(|advice| advice.retry_delay);
            assert!(advice.is_some_and(|wait| !wait.is_zero()), "{refused:?}");
            assert_discreet(refused.message());
            None
        }
    };
    answers.into_iter().filter_map(is_given).collect()
}

#[tokio::test]
async fn nobody_has_more_than_it_may_however_often_it_asks() {
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
        let sessions = given(join_all(opened).await).len();
        let watched = (0..many(100, 1_000)).map(|_| {
            let request = by(&service, "ann", WatchRequest::default());
            let mut watches = WatchServiceClient::new(channel.clone());
            async move { watches.watch(request).await }
        });
        // Each watch exists until the last one has been requested.
        (sessions, given(join_all(watched).await).len())
    };
    let had = service.judge.under(Attack::named("floods beyond limits").may_change(), attack).await;
    assert_eq!(had, (10, 5));
}

#[tokio::test]
async fn who_asks_too_often_is_refused_and_nobody_else_notices() {
    let service = Service::start(&["bob"], POLICY, |_| Vec::new()).await;
    let attack = async || {
        let channel = channel(&service).await;
        let asked = (0..200).map(|_| {
            let request = by(&service, "bob", GetLockRequest { name: "job".into(), ..GetLockRequest::default() });
            let mut locks = LockServiceClient::new(channel.clone());
            async move { locks.get_lock(request).await }
        });
        given(join_all(asked).await).len()
    };
    let begun = std::time::Instant::now();
    let answered: usize = service.judge.sustained(Attack::named("too many requests"), attack).await.into_iter().sum();
    let most = 20 + 20 * (begun.elapsed().as_secs() as usize + 1);
    assert!((1..=most).contains(&answered), "{answered} were answered, {most} at the most");
}
