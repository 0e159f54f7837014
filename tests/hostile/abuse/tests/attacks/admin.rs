//! Attacks on the admin port: they must not take resources that clients depend on.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tenure_abuse::{Attack, Judge, many};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{interval, timeout};

/// The longest that an idle connection is kept: 10 s, and the delay that a busy machine adds.
const KEPT: Duration = Duration::from_secs(25);

/// The connection limit per address.
const SHARE: usize = 256;

/// Returns whether the server closes the connection in time.
async fn ends_within(stream: &mut TcpStream, time: Duration) -> bool {
    let mut rest = Vec::new();
    timeout(time, stream.read_to_end(&mut rest)).await.is_ok()
}

/// The status of a response to a caller at another address.
async fn asked_elsewhere(admin: SocketAddr) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stream = socket.connect(admin).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(KEPT, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_crowd_at_the_admin_port_gets_its_share_and_is_cut_off() {
    let judge = Judge::open().await.unwrap();
    let admin = judge.admin_address();
    let attack = async {
        let begun = Instant::now();
        let mut crowd = Vec::new();
        for _ in 0..SHARE + many(100, 2_000) {
            crowd.push(TcpStream::connect(admin).await.unwrap());
        }
        let (inside, beyond) = crowd.split_at_mut(SHARE);
        for stream in beyond {
            assert!(ends_within(stream, KEPT).await, "there were more than {SHARE} of one address");
        }
        assert_eq!(asked_elsewhere(admin).await, "HTTP/1.1 200 OK");
        for stream in inside {
            assert!(ends_within(stream, KEPT.saturating_sub(begun.elapsed())).await, "who says nothing is kept");
        }
        judge.is_served().await;
    };
    judge.under(Attack::named("a crowd at the admin port").quiet(), attack).await;
}

/// Slow loris.
#[tokio::test]
async fn who_never_ends_a_request_to_the_admin_port_is_cut_off() {
    let judge = Judge::open().await.unwrap();
    let admin = judge.admin_address();
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
    let ended = judge.under(Attack::named("slow loris at the admin port").quiet(), attack).await;
    assert!(ended.into_iter().all(|ended| ended), "kept for {KEPT:?}");
}
