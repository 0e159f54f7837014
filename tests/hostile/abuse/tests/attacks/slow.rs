//! Slow loris: clients that never complete what they began, at every stage, all at once.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tenure_abuse::frame::{HEAD, PREFACE, data, frame, headers, kind, settings};
use tenure_abuse::{Attack, FrameClient, GrpcCaller, Reaction, Target, assert_no_leaks, block, many};
use tenure_harness::{Authority, TenuredOptions};
use tokio::task::JoinSet;
use tonic::transport::{Certificate, ClientTlsConfig};

/// The longest that any of it is kept: a ping after 10 s, 10 s for its answer, and the delay that a busy machine adds.
const KEPT: Duration = Duration::from_secs(35);

/// A prefix of a connection's bytes, after which the client is silent or slow, and the expected result.
#[derive(Clone, Copy)]
struct Stage {
    name: &'static str,
    /// The number of bytes sent at first.
    sent: usize,
    /// Whether the rest is sent byte by byte.
    dribbles: bool,
}

/// A complete call, as a healthy client sends it.
fn whole() -> Vec<u8> {
    let block = block::call("/tenure.v1.LockService/Acquire");
    let message = data(1, false, &[&[0, 0, 0, 1, 0][..], &[0; 256]].concat());
    [PREFACE, &settings(&[]), &headers(1, false, &block), &message].concat()
}

fn stages() -> [Stage; 6] {
    let greeted = PREFACE.len() + HEAD;
    [
        Stage { name: "nothing", sent: 0, dribbles: false },
        Stage { name: "half a preface", sent: 12, dribbles: false },
        Stage { name: "a preface, byte by byte", sent: 1, dribbles: true },
        Stage { name: "a preface and half the settings", sent: greeted - 4, dribbles: false },
        Stage { name: "half of the headers", sent: greeted + HEAD + 20, dribbles: false },
        Stage { name: "headers, byte by byte", sent: greeted + HEAD + 2, dribbles: true },
    ]
}

/// Returns when and how the connection ended.
async fn linger(server: SocketAddr, stage: Stage) -> (&'static str, Duration, Option<Reaction>) {
    let begun = Instant::now();
    let mut client = FrameClient::open(server).await.unwrap();
    let all = whole();
    client.send(&all[..stage.sent]).await;
    let mut pace = tokio::time::interval(Duration::from_secs(1));
    let mut rest = all[stage.sent..].chunks(1).filter(|_| stage.dribbles);
    loop {
        pace.tick().await;
        let is_taken = match rest.next() {
            Some(byte) => client.send(byte).await,
            None => true,
        };
        let end = client.ends_within(Duration::from_millis(1)).await;
        if end.is_some() || !is_taken || begun.elapsed() > KEPT {
            // A failed write means that the connection is closed as well.
            return (stage.name, begun.elapsed(), end.or_else(|| (!is_taken).then_some(Reaction::Closed)));
        }
    }
}

/// Sends a call whose message is never complete; the call must end, and its connection stay. Returns when and how it
/// ended.
async fn half_a_message(target: &Target, path: &str, dribbles: bool) -> (Duration, Option<u32>) {
    let begun = Instant::now();
    let mut client = FrameClient::handshake(target.address()).await.unwrap();
    client.send(&[headers(1, false, &block::call(path)), data(1, false, &[0, 0, 0, 1, 0, 1])].concat()).await;
    let mut pace = tokio::time::interval(Duration::from_secs(1));
    while begun.elapsed() < KEPT {
        pace.tick().await;
        if dribbles {
            client.send(&data(1, false, &[1])).await;
        }
        while let Some(received) = client.next_frame_within(Duration::from_millis(1)).await {
            match received.kind {
                kind::HEADERS if received.stream == 1 => return (begun.elapsed(), Some(0)),
                kind::PING if received.flags == 0 => {
                    client.send(&frame(kind::PING, 1, 0, &received.payload)).await;
                }
                _ => {}
            }
        }
    }
    (begun.elapsed(), None)
}

#[tokio::test]
async fn incomplete_connections_and_calls_are_closed_in_time() {
    let target = Target::start().await.unwrap();
    let plain = "/tenure.v1.LockService/Acquire";
    let watch = "/tenure.v1.WatchService/Watch";
    let attack = async {
        let all = (0..many(6, 120)).flat_map(|_| stages());
        // In separate tasks: with all in one task, some would not read in time.
        let lingering: JoinSet<_> = all.map(|stage| linger(target.address(), stage)).collect();
        let messages = async {
            tokio::join!(
                half_a_message(&target, plain, false),
                half_a_message(&target, plain, true),
                half_a_message(&target, watch, false),
                half_a_message(&target, watch, true),
            )
        };
        // 10 s, and DEADLINE_EXCEEDED.
        let deadlines = async {
            let caller = GrpcCaller::connect(target.address()).await.unwrap();
            let half = Bytes::from_static(&[0, 0, 0, 1, 0, 1]);
            let (plain, watch) =
                tokio::join!(caller.call_unfinished(plain, half.clone()), caller.call_unfinished(watch, half));
            [plain.unwrap(), watch.unwrap()]
        };
        tokio::join!(lingering.join_all(), messages, deadlines)
    };
    let (lingered, messages, deadlines) = target.run(Attack::named("slow loris").quiet(), Box::pin(attack)).await;
    for answer in deadlines {
        assert_eq!(answer.grpc, Some(4), "{answer:?}");
        assert_no_leaks(&answer.text);
    }
    for (name, kept, end) in lingered {
        assert!(end.is_some(), "{name}: still open after {kept:?}");
    }
    for (after, answered) in <[_; 4]>::from(messages) {
        assert!(answered.is_some() && after > Duration::from_secs(5), "a half message: {answered:?} after {after:?}");
    }
}

/// A client that uses up its own quota of handshakes does not use up that of others.
#[tokio::test]
async fn silent_tls_clients_do_not_delay_other_addresses() {
    let authority = Authority::new("ca").unwrap();
    let files = authority.certify("server", 1, &["127.0.0.1"]).unwrap();
    let options = TenuredOptions::default()
        .argument("--tls-cert")
        .argument(files.cert.display().to_string())
        .argument("--tls-key")
        .argument(files.key.display().to_string());
    let ca = Certificate::from_pem(std::fs::read(authority.ca()).unwrap());
    let tls = ClientTlsConfig::new().ca_certificate(ca).domain_name("127.0.0.1");
    let target = Target::start_with(&options, None, Some(tls)).await.unwrap();
    let half_a_hello = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let attack = async {
        let mut silent = Vec::new();
        for at in 0..many(1_500, 5_000) {
            let mut client = FrameClient::open_from(target.address(), [127, 0, 0, 2]).await.unwrap();
            if at % 2 == 0 {
                client.send(&half_a_hello).await;
            }
            silent.push(client);
        }
        let begun = Instant::now();
        target.assert_served().await;
        (begun.elapsed(), silent)
    };
    let (waited, mut silent) = target.run(Attack::named("half TLS handshakes"), attack).await;
    assert!(waited < Duration::from_secs(3), "a client of another address waited for {waited:?}");
    let first = silent.first_mut().unwrap();
    assert!(first.ends_within(Duration::from_secs(25)).await.is_some(), "a silent client is still connected");
}
