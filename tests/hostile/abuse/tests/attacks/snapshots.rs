//! Watches on much state that are reopened repeatedly: each first receives a snapshot of everything.

use prost::Message;
use tenure_abuse::frame::{data, headers};
use tenure_abuse::{Attack, FrameClient, GrpcCaller, HEALTHY_NAMESPACE, Reaction, Target, block, many, message};
use tenure_proto::v1::{AcquireRequest, WatchRequest};

/// The maximum number of names in one Acquire.
const AT_ONCE: usize = 16;

/// In the healthy client's namespace: no command is decided there while the table is read.
#[tokio::test]
async fn repeated_watches_of_everything_do_not_delay_other_clients() {
    let target = Target::start().await.unwrap();
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    for at in 0..many(2_000, 100_000) / AT_ONCE {
        let acquire = AcquireRequest {
            namespace: HEALTHY_NAMESPACE.to_owned(),
            names: (0..AT_ONCE).map(|name| format!("many/{at}/{name}")).collect(),
            session_id: format!("many-{at}"),
            ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
            ..AcquireRequest::default()
        };
        let acquired = caller.call("/tenure.v1.LockService/Acquire", &[], &message(&acquire.encode_to_vec())).await;
        assert_eq!(acquired.unwrap().grpc, Some(0));
    }
    let watch = WatchRequest { namespace: HEALTHY_NAMESPACE.to_owned(), ..WatchRequest::default() };
    let watch = message(&watch.encode_to_vec());
    let attack = async || {
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        for at in 0..50 {
            let id = at * 2 + 1;
            let call = headers(id, false, &block::call("/tenure.v1.WatchService/Watch"));
            client.send(&[call, data(id, true, &watch)].concat()).await;
        }
        client.reaction().await
    };
    let bound = u32::try_from(many(64, 256)).unwrap();
    let found = target.run_repeatedly(Attack::named("snapshots").may_change().memory(bound), attack).await;
    assert!(found.iter().all(|reaction| *reaction == Reaction::Served), "{found:?}");
}
