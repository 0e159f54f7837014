//! Slow loris: clients that never complete what they began, at every stage, all at once.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tenure_abuse::frame::{HEAD, PREFACE, data, frame, headers, kind, settings};
use tenure_abuse::{Attack, GrpcCaller, Judge, Speaker, Verdict, assert_discreet, block, many};
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
    said: usize,
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
        Stage { name: "nothing", said: 0, dribbles: false },
        Stage { name: "half a preface", said: 12, dribbles: false },
        Stage { name: "a preface, byte by byte", said: 1, dribbles: true },
        Stage { name: "a preface and half the settings", said: greeted - 4, dribbles: false },
        Stage { name: "half of the headers", said: greeted + HEAD + 20, dribbles: false },
        Stage { name: "headers, byte by byte", said: greeted + HEAD + 2, dribbles: true },
    ]
}

/// Returns when and how the connection ended.
async fn linger(server: SocketAddr, stage: Stage) -> (&'static str, Duration, Option<Verdict>) {
    let begun = Instant::now();
    let mut speaker = Speaker::silent(server).await.unwrap();
    let all = whole();
    speaker.say(&all[..stage.said]).await;
    let mut pace = tokio::time::interval(Duration::from_secs(1));
    let mut rest = all[stage.said..].chunks(1).filter(|_| stage.dribbles);
    loop {
        pace.tick().await;
        let is_taken = match rest.next() {
            Some(byte) => speaker.say(byte).await,
            None => true,
        };
        let over = speaker.ends_within(Duration::from_millis(1)).await;
        if over.is_some() || !is_taken || begun.elapsed() > KEPT {
            // A failed write means that the connection is closed as well.
            return (stage.name, begun.elapsed(), over.or_else(|| (!is_taken).then_some(Verdict::Cut)));
        }
    }
}

/// Sends a call whose message is never complete; the call must end, and its connection stay. Returns when and how it
/// ended.
async fn half_a_message(judge: &Judge, path: &str, dribbles: bool) -> (Duration, Option<u32>) {
    let begun = Instant::now();
    let mut speaker = Speaker::greet(judge.address()).await.unwrap();
    speaker.say(&[headers(1, false, &block::call(path)), data(1, false, &[0, 0, 0, 1, 0, 1])].concat()).await;
    let mut pace = tokio::time::interval(Duration::from_secs(1));
    while begun.elapsed() < KEPT {
        pace.tick().await;
        if dribbles {
            speaker.say(&data(1, false, &[1])).await;
        }
        while let Some(heard) = speaker.hear_within(Duration::from_millis(1)).await {
            match heard.kind {
                kind::HEADERS if heard.stream == 1 => return (begun.elapsed(), Some(0)),
                kind::PING if heard.flags == 0 => {
                    speaker.say(&frame(kind::PING, 1, 0, &heard.payload)).await;
                }
                _ => {}
            }
        }
    }
    (begun.elapsed(), None)
}

#[tokio::test]
async fn whoever_is_slow_is_cut_off_and_nobody_else_is() {
    let judge = Judge::open().await.unwrap();
    let plain = "/tenure.v1.LockService/Acquire";
    let watch = "/tenure.v1.WatchService/Watch";
    let attack = async {
        let all = (0..many(6, 120)).flat_map(|_| stages());
        // In separate tasks: with all in one task, some would not read in time.
        let lingering: JoinSet<_> = all.map(|stage| linger(judge.address(), stage)).collect();
        let messages = async {
            tokio::join!(
                half_a_message(&judge, plain, false),
                half_a_message(&judge, plain, true),
                half_a_message(&judge, watch, false),
                half_a_message(&judge, watch, true),
            )
        };
        // 10 s, and DEADLINE_EXCEEDED.
        let told = async {
            let caller = GrpcCaller::connect(judge.address()).await.unwrap();
            let half = Bytes::from_static(&[0, 0, 0, 1, 0, 1]);
            let (plain, watch) =
                tokio::join!(caller.call_unfinished(plain, half.clone()), caller.call_unfinished(watch, half));
            [plain.unwrap(), watch.unwrap()]
        };
        tokio::join!(lingering.join_all(), messages, told)
    };
    let (lingered, messages, told) = judge.under(Attack::named("slow loris").quiet(), Box::pin(attack)).await;
    for answer in told {
        assert_eq!(answer.grpc, Some(4), "{answer:?}");
        assert_discreet(&answer.text);
    }
    for (name, kept, over) in lingered {
        assert!(over.is_some(), "{name}: still there after {kept:?}");
    }
    for (after, answered) in <[_; 4]>::from(messages) {
        assert!(answered.is_some() && after > Duration::from_secs(5), "a half message: {answered:?} after {after:?}");
    }
}

/// A client that uses up its own quota of handshakes does not use up that of others.
#[tokio::test]
async fn silent_tls_clients_of_one_address_keep_nobody_else_waiting() {
    let authority = Authority::new("ca").unwrap();
    let files = authority.certify("server", 1, &["127.0.0.1"]).unwrap();
    let options = TenuredOptions::default()
        .argument("--tls-cert")
        .argument(files.cert.display().to_string())
        .argument("--tls-key")
        .argument(files.key.display().to_string());
    let ca = Certificate::from_pem(std::fs::read(authority.ca()).unwrap());
    let tls = ClientTlsConfig::new().ca_certificate(ca).domain_name("127.0.0.1");
    let judge = Judge::of(&options, None, Some(tls)).await.unwrap();
    let half_a_hello = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let attack = async {
        let mut silent = Vec::new();
        for at in 0..many(1_500, 5_000) {
            let mut speaker = Speaker::from(judge.address(), [127, 0, 0, 2]).await.unwrap();
            if at % 2 == 0 {
                speaker.say(&half_a_hello).await;
            }
            silent.push(speaker);
        }
        let begun = Instant::now();
        judge.is_served().await;
        (begun.elapsed(), silent)
    };
    let (waited, mut silent) = judge.under(Attack::named("half TLS handshakes"), attack).await;
    assert!(waited < Duration::from_secs(3), "a client of another address waited for {waited:?}");
    let first = silent.first_mut().unwrap();
    assert!(first.ends_within(Duration::from_secs(25)).await.is_some(), "a silent client is still there");
}
