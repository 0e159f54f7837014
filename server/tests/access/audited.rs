//! The audit log.

use crate::access::calls::ttl;
use crate::access::requests::{acquire, get_lock, policy};
use crate::access::service::Service;
use crate::serving::{start, within};
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::*;
use tenure_server::auth::{AuditOptions, CredentialOptions};
use tenure_server::transport::ConnectionLimits;

#[tokio::test]
async fn audit_records_operator_actions_and_rejections() {
    let service = Service::start(&["ann", "acquire", "read"], &policy("names = [\"team-a\"]")).await;
    let (ann, other) = (service.caller("ann").await, service.caller("acquire").await);
    let reader = service.caller("read").await;
    acquire(&ann, "team-a/x", "ann").await.unwrap();
    let evict = |name: &str, note: &str| EvictRequest {
        name: name.into(),
        operator: "eve".into(),
        note: note.into(),
        ..EvictRequest::default()
    };
    let mut locks = LockServiceClient::new(ann.channel.clone());
    within(ann.locks().evict(evict("team-a/x", "stuck\u{202e}"))).await.unwrap();
    within(ann.locks().evict(evict("team-b/x", ""))).await.unwrap_err();
    within(locks.list_locks(ListLocksRequest::default())).await.unwrap_err();
    acquire(&other, "team-a/x", "ann").await.unwrap_err();
    let close = CloseSessionRequest { session_id: "ann".into(), ..CloseSessionRequest::default() };
    within(other.sessions().close_session(close)).await.unwrap_err();
    let release = ReleaseRequest { name: "team-a/x".into(), session_id: "ann".into(), token: 1, ..Default::default() };
    within(other.locks().release(release)).await.unwrap_err();
    let open = OpenSessionRequest { session_id: "r".into(), ttl: ttl(), ..OpenSessionRequest::default() };
    within(reader.sessions().open_session(open)).await.unwrap_err();

    let records: Vec<_> = service
        .audit(7)
        .await
        .into_iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            assert!(
                line["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1:"))
                    && line["time"].is_string()
            );
            let name = line["names"][0].as_str().unwrap_or_default().to_owned();
            (
                line["allowed"].as_bool().unwrap(),
                text("rule"),
                text("identity"),
                text("call"),
                name,
                text("note"),
                text("session_id"),
            )
        })
        .collect();
    let line = |allowed, rule: &str, identity: &str, call: &str, name: &str, note: &str, session: &str| {
        let call = format!("tenure.v1.{call}");
        (allowed, rule.into(), identity.into(), call, name.into(), note.into(), session.into())
    };
    assert_eq!(
        records,
        [
            line(true, "", "token:ann", "LockService/Evict", "team-a/x", "stuck\u{202e}", ""),
            line(false, "policy", "token:ann", "LockService/Evict", "team-b/x", "", ""),
            line(false, "credentials-required", "", "LockService/ListLocks", "", "", ""),
            line(false, "session-owner", "token:acquire", "LockService/Acquire", "team-a/x", "", "ann"),
            line(false, "session-owner", "token:acquire", "SessionService/CloseSession", "", "", "ann"),
            line(false, "session-owner", "token:acquire", "LockService/Release", "team-a/x", "", "ann"),
            line(false, "policy", "token:read", "SessionService/OpenSession", "", "", "r"),
        ]
    );
}

#[tokio::test]
async fn audit_of_everything_records_all_calls_but_renewals() {
    let service = Service::audited(&["ann"], &policy(""), true).await;
    let ann = service.caller("ann").await;
    acquire(&ann, "job", "ann").await.unwrap();
    let renew = RenewRequest { session_id: "ann".into(), ..RenewRequest::default() };
    within(ann.sessions().renew(renew)).await.unwrap();
    get_lock(&ann, "job").await.unwrap();
    let records = service.audit(2).await;
    let calls: Vec<&str> = records.iter().map(|line| line["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["tenure.v1.LockService/Acquire", "tenure.v1.LockService/GetLock"]);
}

#[tokio::test]
async fn server_does_not_start_without_its_audit_log() {
    let audit = Some(AuditOptions { file: "/no/such/folder/audit".into(), everything: false });
    let credentials = CredentialOptions { audit, ..CredentialOptions::default() };
    let started = start(credentials, ConnectionLimits::default()).await;
    let problem = started.err().unwrap().to_string();
    assert!(problem.starts_with("audit_log: /no/such/folder/audit: "), "{problem}");
}
