//! Floods of valid frames.

use std::time::Duration;

use prost::Message;
use tenure_abuse::frame::{data, flag, frame, headers, kind, ping, priority, setting, settings, window_update};
use tenure_abuse::{Attack, FrameClient, Reaction, Target, block, frame::code, many, message};
use tenure_proto::v1::connect_request::Kind;
use tenure_proto::v1::{ConnectRequest, Hello, KeepAlive};

/// How long a client that does not read sends.
const UNREAD: Duration = Duration::from_millis(300);

/// Runs the flood once with and once without reading: the server must not keep an unbounded number of replies.
async fn flood(target: &Target, name: &'static str, opening: &[u8], one: &[u8], times: usize) -> Vec<Reaction> {
    let attack = async || {
        let mut unread = FrameClient::handshake(target.address()).await.unwrap();
        unread.send_without_reading(&[opening, &one.repeat(times)].concat(), UNREAD).await;
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        client.send(opening).await;
        for _ in 0..10 {
            if !client.send(&one.repeat(times / 10)).await {
                break;
            }
        }
        client.reaction().await
    };
    target.run_repeatedly(Attack::named(name), attack).await
}

fn call(path: &str) -> Vec<u8> {
    headers(1, false, &block::call(path))
}

#[tokio::test]
async fn frame_floods_are_answered_or_end_the_connection() {
    let target = Target::shared().await;
    let connect = call("/tenure.v1.ClientService/Connect");
    let times = many(20_000, 1_000_000);
    let pong = frame(kind::PING, flag::ACK, 0, b"flooding");
    let window = settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535)]);
    let shuffled = [priority(1, 3), priority(3, 5), priority(5, 1)].concat();
    let floods: [(&'static str, &[u8], Vec<u8>, usize); 6] = [
        ("PING flood (CVE-2019-9512)", &[], ping(*b"flooding"), times),
        ("unsolicited PING ACK flood", &[], pong, times),
        ("SETTINGS flood (CVE-2019-9515)", &connect, window, times),
        ("priority flood (CVE-2019-9513)", &connect, shuffled, times / 3),
        ("WINDOW_UPDATE flood", &connect, window_update(0, 1), times),
        ("unknown frames flood", &connect, frame(0x42, 0, 1, b"x"), times),
    ];
    for (name, opening, one, times) in floods {
        let found = flood(target, name, opening, &one, times).await;
        assert!(found.iter().all(|reaction| *reaction == Reaction::Served || reaction.is_shed()), "{name}: {found:?}");
    }
    // A flood of empty frames always ends the connection.
    let found = flood(target, "empty frames flood (CVE-2019-9518)", &connect, &data(1, false, &[]), times).await;
    assert!(found.iter().all(|reaction| reaction.is_shed()), "{found:?}");
}

/// CVE-2019-9511 and CVE-2019-9517: much is requested, and hardly any of it read.
#[tokio::test]
async fn unread_replies_do_not_accumulate() {
    let target = Target::shared().await;
    let attack = async {
        let mut clients = Vec::new();
        for window in [0, 1] {
            let mut client =
                FrameClient::handshake_with(target.address(), &[(setting::INITIAL_WINDOW_SIZE, window)]).await.unwrap();
            let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
            // file_containing_symbol: "tenure.v1.LockService", whose reply has 30 KB.
            let request = [&[0, 0, 0, 0, 23, 0x22, 21][..], b"tenure.v1.LockService"].concat();
            for at in 0..u32::try_from(many(100, 2_000)).unwrap() {
                let id = at * 2 + 1;
                let call = [headers(id, false, &block::call(reflection)), data(id, true, &request)].concat();
                let dribble = if window == 1 { window_update(id, 1) } else { Vec::new() };
                if !client.send(&[call, dribble].concat()).await {
                    break;
                }
            }
            let reaction = client.reaction().await;
            clients.push((client, reaction));
        }
        clients.into_iter().map(|(_, reaction)| reaction).collect::<Vec<_>>()
    };
    let reactions = target.run(Attack::named("data dribble (CVE-2019-9511, CVE-2019-9517)"), attack).await;
    assert_eq!(reactions, [Reaction::Served; 2]);
}

/// A client that reads no replies cannot send more than its window.
#[tokio::test]
async fn data_beyond_the_window_ends_the_stream_or_the_connection() {
    let target = Target::shared().await;
    let attack = async {
        let mut client =
            FrameClient::handshake_with(target.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
        client.send(&call("/tenure.v1.ClientService/Connect")).await;
        let hello = Hello { client_id: "reads no replies".to_owned(), epoch: 1, ..Hello::default() };
        let [hello, keep_alive] = [Kind::Hello(hello), Kind::KeepAlive(KeepAlive { number: 1 })]
            .map(|kind| message(&ConnectRequest { kind: Some(kind) }.encode_to_vec()));
        client.send(&data(1, false, &hello)).await;
        // Each is answered; none of the replies is read.
        let frame = data(1, false, &keep_alive.repeat(1_500));
        for _ in 0..200 {
            if !client.send(&frame).await {
                break;
            }
        }
        client.reaction().await
    };
    let reaction = target.run(Attack::named("DATA beyond the window").may_connect(), attack).await;
    let is_over = matches!(reaction, Reaction::GoAway(code::FLOW_CONTROL_ERROR) | Reaction::Closed);
    assert!(is_over || reaction == Reaction::Reset(1, code::FLOW_CONTROL_ERROR), "{reaction:?}");
}
