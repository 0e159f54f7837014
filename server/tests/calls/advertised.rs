//! Servers that advertise correct and wrong addresses.

use tenure_proto::v1::server_service_client::ServerServiceClient;
use tenure_proto::v1::{ListServersRequest, Server};

use crate::calls::cluster::{Cluster, until};

/// The servers, as seen by one of them.
async fn seen_by(cluster: &Cluster, number: usize) -> Vec<Server> {
    let mut client = ServerServiceClient::new(cluster.caller(number).await.channel);
    let answer = client.list_servers(ListServersRequest::default()).await.expect("listed");
    answer.into_inner().servers
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_advertised_address_is_reported() {
    // The second server advertises an unreachable address, and the third one the address of the first.
    let cluster = Cluster::start_advertising(3, |number, servers| match number {
        1 => "127.0.0.1:1".to_owned(),
        2 => servers[0].grpc_address.to_string(),
        _ => "127.0.0.1:0".to_owned(),
    })
    .await;
    for observer in 0..3 {
        let wrong: Vec<String> =
            (1..3).filter(|other| *other != observer).map(|other| format!("server-{other}")).collect();
        until("the wrong addresses are known", async || {
            let servers = seen_by(&cluster, observer).await;
            let unreachable: Vec<&Server> = servers.iter().filter(|server| !server.unreachable.is_empty()).collect();
            unreachable.iter().map(|server| server.label.clone()).collect::<Vec<_>>() == wrong
        })
        .await;
        for server in seen_by(&cluster, observer).await {
            match server.label.as_str() {
                "server-1" if observer != 1 => assert!(server.unreachable.contains("refused"), "{server:?}"),
                "server-2" if observer != 2 => assert_eq!(server.unreachable, "another server replies there"),
                _ => assert_eq!(server.unreachable, ""),
            }
        }
    }
}
