//! Floods of rejections, and the audit records that they must not suppress.

use crate::access::requests::policy;
use crate::access::service::Service;
use crate::serving::within;
use tenure_proto::v1::EvictRequest;
use tenure_proto::v1::lock_service_client::LockServiceClient;

#[tokio::test]
async fn rejections_of_unidentified_callers_suppress_no_audit_record_of_an_identity() {
    let service = Service::start(&["none"], &policy("")).await;
    let none = service.caller("none").await;
    let mut locks = LockServiceClient::new(none.channel.clone());
    for _ in 0..500 {
        within(locks.evict(EvictRequest::default())).await.unwrap_err();
    }
    let evict = EvictRequest { name: "job".into(), operator: "eve".into(), ..EvictRequest::default() };
    within(none.locks().evict(evict)).await.unwrap_err();
    let is_written = async {
        while !service.audit(1).await.iter().any(|line| line["identity"] == "token:none") {
            tokio::task::yield_now().await;
        }
    };
    within(is_written).await;
}
