//! Connection limits, and timeouts for silent connections. Over TCP, on a database in memory.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tenure_proto::v1::ListLocksRequest;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_server::auth::CredentialOptions;
use tenure_server::transport::{self, ConnectionLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tonic::transport::Endpoint;

use crate::serving::{start, within};

/// The preface of HTTP/2, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Connects from this address of this machine.
async fn connect(from: [u8; 4], server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    within(socket.connect(server)).await.unwrap()
}

/// Whether the server replies to the preface.
async fn is_served(connection: &mut TcpStream) -> bool {
    let mut settings = [0; 9];
    if within(connection.write_all(PREFACE)).await.is_err() {
        return false;
    }
    within(connection.read_exact(&mut settings)).await.is_ok()
}

#[tokio::test]
async fn connection_past_a_limit_is_closed() {
    let limits = ConnectionLimits { connections: 3, of_one_address: 2, ..ConnectionLimits::default() };
    let server = start(CredentialOptions::default(), limits).await.unwrap();
    let (first, second) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let mut open = [connect(first, server.grpc_address).await, connect(first, server.grpc_address).await];
    assert!(is_served(&mut open[0]).await && is_served(&mut open[1]).await);
    assert!(!is_served(&mut connect(first, server.grpc_address).await).await, "past the limit of one address");
    let mut other = connect(second, server.grpc_address).await;
    assert!(is_served(&mut other).await, "another address");
    assert!(
        !is_served(&mut connect([127, 0, 0, 3], server.grpc_address).await).await,
        "past the limit of all addresses"
    );

    let [closed, mut kept] = open;
    drop(closed);
    let reconnected = async {
        loop {
            let mut again = connect(first, server.grpc_address).await;
            if is_served(&mut again).await {
                return again;
            }
        }
    };
    within(reconnected).await;
    assert!(is_answered(&mut kept).await, "an open connection is kept");
}

#[tokio::test]
async fn connection_without_a_preface_is_closed() {
    let limits = ConnectionLimits { greeting: Duration::from_secs(1), ..ConnectionLimits::default() };
    let server = start(CredentialOptions::default(), limits).await.unwrap();
    for sent in [&b""[..], &PREFACE[..1], &PREFACE[..24], &PREFACE[..32]] {
        let mut connection = connect([127, 0, 0, 1], server.grpc_address).await;
        connection.write_all(sent).await.unwrap();
        // End of stream, or a reset.
        let _ = within(connection.read_to_end(&mut Vec::new())).await;
    }
    // A connection that has sent its preface is kept, however long it stays silent.
    let endpoint = Endpoint::from_shared(format!("http://{}", server.grpc_address)).unwrap();
    let mut client = LockServiceClient::new(within(endpoint.connect()).await.unwrap());
    let mut silent = connect([127, 0, 0, 1], server.grpc_address).await;
    silent.write_all(PREFACE).await.unwrap();
    let mut one_byte_at_a_time = connect([127, 0, 0, 1], server.grpc_address).await;
    one_byte_at_a_time.write_all(&PREFACE[..1]).await.unwrap();
    let _ = within(one_byte_at_a_time.read_to_end(&mut Vec::new())).await;
    within(client.list_locks(ListLocksRequest::default())).await.unwrap();
    assert!(is_answered(&mut silent).await);
}

/// Whether the server answers a ping on a connection.
async fn is_answered(connection: &mut TcpStream) -> bool {
    connection.write_all(b"\0\0\x08\x06\0\0\0\0\0are here").await.unwrap();
    let mut answer = Vec::new();
    while !answer.windows(8).any(|window| window == b"are here") {
        match within(connection.read_buf(&mut answer)).await {
            Ok(more) if more > 0 => {}
            _ => return false,
        }
    }
    true
}

/// All clients connect at once after a server has failed. A client that overflows the system's accept queue retries
/// only after a second, then after longer intervals.
#[tokio::test]
async fn accept_queue_has_room_for_hundreds_of_connections() {
    let listener = transport::on((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let mut connections = Vec::new();
    for _ in 0..500 {
        // Shorter than the first retry.
        connections.push(std::net::TcpStream::connect_timeout(&address, Duration::from_millis(900)).unwrap());
    }
}
