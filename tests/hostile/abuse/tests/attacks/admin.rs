//! Attacks on the admin port: they must not take resources that clients depend on.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tenure_abuse::{Attack, Target, many};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{interval, timeout};

/// The longest that an idle connection is kept: 10 s, and the delay that a busy machine adds.
const KEPT: Duration = Duration::from_secs(25);

/// The connection limit per address.
const LIMIT: usize = 256;

/// Returns whether the server closes the connection in time.
async fn ends_within(stream: &mut TcpStream, time: Duration) -> bool {
    let mut rest = Vec::new();
    timeout(time, stream.read_to_end(&mut rest)).await.is_ok()
}

/// The status of a response to a caller at another address.
async fn status_for_another_address(admin: SocketAddr) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stream = socket.connect(admin).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(KEPT, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn admin_connections_beyond_the_limit_per_address_are_closed() {
    let target = Target::start().await.unwrap();
    let admin = target.admin_address();
    let attack = async {
        let begun = Instant::now();
        let mut streams = Vec::new();
        for _ in 0..LIMIT + many(100, 2_000) {
            streams.push(TcpStream::connect(admin).await.unwrap());
        }
        let (accepted, excess) = streams.split_at_mut(LIMIT);
        for stream in excess {
            assert!(ends_within(stream, KEPT).await, "more than {LIMIT} connections of one address are open");
        }
        assert_eq!(status_for_another_address(admin).await, "HTTP/1.1 200 OK");
        for stream in accepted {
            assert!(
                ends_within(stream, KEPT.saturating_sub(begun.elapsed())).await,
                "an idle connection is still open"
            );
        }
        target.assert_served().await;
    };
    target.run(Attack::named("many connections to the admin port").quiet(), attack).await;
}

/// Slow loris: a request header that is sent byte by byte.
#[tokio::test]
async fn admin_connections_with_incomplete_requests_are_closed() {
    let target = Target::start().await.unwrap();
    let admin = target.admin_address();
    let dribble = async |_| {
        let mut stream = TcpStream::connect(admin).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: somewhere-that-is-long\r\n").await.unwrap();
        let (begun, mut pace) = (Instant::now(), interval(Duration::from_secs(1)));
        while begun.elapsed() < KEPT {
            pace.tick().await;
            if stream.write_all(b"x").await.is_err() || ends_within(&mut stream, Duration::from_millis(1)).await {
                return true;
            }
        }
        false
    };
    let attack = async { futures::future::join_all((0..many(20, 200)).map(dribble)).await };
    let ended = target.run(Attack::named("slow loris at the admin port").quiet(), attack).await;
    assert!(ended.into_iter().all(|ended| ended), "still open after {KEPT:?}");
}
