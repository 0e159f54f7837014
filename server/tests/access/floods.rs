//! Floods of rejections, and the audit records that they must not suppress.

use crate::access::asking::policy;
use crate::access::office::Office;
use crate::serving::within;
use tenure_proto::v1::EvictRequest;
use tenure_proto::v1::lock_service_client::LockServiceClient;

#[tokio::test]
async fn refusals_of_unidentified_callers_hide_no_refusal_of_a_known_identity() {
    let office = Office::open(&["none"], &policy("")).await;
    let none = office.caller("none").await;
    let mut locks = LockServiceClient::new(none.channel.clone());
    for _ in 0..500 {
        within(locks.evict(EvictRequest::default())).await.unwrap_err();
    }
    let evict = EvictRequest { name: "job".into(), operator: "eve".into(), ..EvictRequest::default() };
    within(locks.evict(none.ask(evict))).await.unwrap_err();
    let is_written = async {
        while !office.audit(1).await.iter().any(|line| line["identity"] == "token:none") {
            tokio::task::yield_now().await;
        }
    };
    within(is_written).await;
}
