//! Streams with more output than their clients read.

use std::collections::BTreeMap;

use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{KeepAliveRequest, UpdateClaimRequest, WatchRequest, watch_response};

use crate::calls::cluster::Cluster;
use crate::calls::stream::ClientStream;
use crate::serving::within;

/// Exceeds the amount in flight between a server and a client that does not read.
const CHANGES: usize = 600;

#[tokio::test]
async fn keep_alive_is_answered_before_events_that_were_queued_earlier() {
    let cluster = Cluster::start(1).await;
    let (reader, writer) = (cluster.narrow_caller(0).await, cluster.caller(0).await);
    let mut stream = ClientStream::open(&reader, &["default"]).await;
    stream.send([(10, Kind::Watch(WatchRequest { prefixes: vec![String::new()], ..WatchRequest::default() }))]).await;
    assert!(matches!(stream.next().await, (10, Answered::Watch(_))), "a snapshot");
    let token = writer.hold("bob", "a").await;
    let mut end = 0;
    for change in 0..CHANGES {
        let request = UpdateClaimRequest {
            name: "a".to_owned(),
            session_id: "bob".to_owned(),
            token,
            metadata: BTreeMap::from([(format!("change-{change}"), "x".repeat(4_000))]),
            ..UpdateClaimRequest::default()
        };
        end = within(writer.locks().update_claim(request)).await.expect("held").into_inner().revision;
    }
    let keep = KeepAliveRequest { session_ids: vec!["ann".to_owned()], ..KeepAliveRequest::default() };
    stream.send([(11, Kind::KeepAlive(keep))]).await;
    reader.flush().await;
    let mut before = 0;
    loop {
        match stream.next().await {
            (11, Answered::KeepAlive(_)) => break,
            (10, Answered::Watch(_)) => before += 1,
            other => panic!("unexpected: {other:?}"),
        }
    }
    assert!(before < CHANGES / 2, "{before} events came first");
    let mut last = 0;
    while last < end {
        let (_, Answered::Watch(watched)) = stream.next().await else { panic!("not a watch message") };
        assert!(matches!(watched.kind, Some(watch_response::Kind::Events(_) | watch_response::Kind::Progress(_))));
        last = watched.revision;
    }
}
