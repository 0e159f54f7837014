//! Frames that are invalid, or are sent at the wrong time: the server closes the connection, or resets one stream.

use tenure_abuse::frame::{
    PREFACE, code, data, flag, frame, headers, kind, ping, priority, reset, setting, settings, window_update,
};
use tenure_abuse::{Attack, FrameClient, Reaction, Target, block};

/// Frames sent after the preface, and the expected result.
struct Case {
    name: &'static str,
    sent: Vec<u8>,
    reaction: Reaction,
}

fn case(name: &'static str, sent: &[Vec<u8>], reaction: Reaction) -> Case {
    Case { name, sent: sent.concat(), reaction }
}

/// A watch, which stays open: a stream for frames to refer to.
fn watch(stream: u32) -> Vec<u8> {
    let call = headers(stream, false, &block::call("/tenure.v1.WatchService/Watch"));
    [call, data(stream, true, &[0; 5])].concat()
}

/// A call that has started.
fn call(stream: u32) -> Vec<u8> {
    headers(stream, false, &block::call("/tenure.v1.LockService/GetLock"))
}

fn cases() -> Vec<Case> {
    use Reaction::{GoAway, Reset, Served};
    let invalid = GoAway(code::PROTOCOL_ERROR);
    vec![
        case("an unknown type", &[frame(0x42, 0xff, 0, b"whatever")], Served),
        case("an unknown type of an idle stream", &[frame(0xee, 0, 7, &[0; 100])], Served),
        case("a frame of 16,385 bytes", &[frame(kind::DATA, 0, 0, &vec![0; 16_385])], GoAway(code::FRAME_SIZE_ERROR)),
        case("a frame that claims 16 MiB", &[vec![0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]], GoAway(code::FRAME_SIZE_ERROR)),
        case("DATA of the connection", &[data(0, false, b"x")], invalid),
        case("DATA of an idle stream", &[data(1, false, b"x")], invalid),
        case("HEADERS of the connection", &[headers(0, true, &block::call("/"))], invalid),
        case("HEADERS of an even stream", &[headers(2, true, &block::call("/"))], invalid),
        case("HEADERS of a stream below the last", &[watch(3), headers(1, true, &block::call("/"))], invalid),
        case(
            "a frame between HEADERS and CONTINUATION",
            &[frame(kind::HEADERS, 0, 1, &block::call("/")), ping(*b"in betwe")],
            invalid,
        ),
        case(
            "HEADERS that depend on themselves",
            &[frame(
                kind::HEADERS,
                flag::END_HEADERS | flag::PRIORITY,
                1,
                &[&[0, 0, 0, 1, 0][..], &block::call("/")].concat(),
            )],
            Reset(1, code::PROTOCOL_ERROR),
        ),
        case(
            "HEADERS with more padding than payload",
            &[frame(kind::HEADERS, flag::END_HEADERS | flag::PADDED, 1, &[200, 0x82])],
            invalid,
        ),
        case(
            "HEADERS too short for their priority",
            &[frame(kind::HEADERS, flag::END_HEADERS | flag::PRIORITY, 1, &[0, 0])],
            invalid,
        ),
        case(
            "CONTINUATION without HEADERS",
            &[frame(kind::CONTINUATION, flag::END_HEADERS, 1, &block::call("/"))],
            invalid,
        ),
        case(
            "CONTINUATION of another stream",
            &[frame(kind::HEADERS, 0, 1, &block::call("/")), frame(kind::CONTINUATION, flag::END_HEADERS, 3, &[])],
            invalid,
        ),
        case(
            "DATA with more padding than payload",
            &[call(1), frame(kind::DATA, flag::PADDED, 1, &[200, 0, 0])],
            invalid,
        ),
        case("DATA without its padding", &[call(1), frame(kind::DATA, flag::PADDED, 1, &[])], invalid),
        case("DATA after the end", &[watch(1), data(1, false, b"x")], invalid),
        case(
            "PUSH_PROMISE",
            &[
                call(1),
                frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[&[0, 0, 0, 2][..], &block::call("/")].concat()),
            ],
            invalid,
        ),
        case("PRIORITY of the connection", &[priority(0, 1)], invalid),
        case("PRIORITY of 4 bytes", &[frame(kind::PRIORITY, 0, 1, &[0; 4])], invalid),
        case("PRIORITY on itself", &[priority(1, 1)], Reset(1, code::PROTOCOL_ERROR)),
        case("RST_STREAM of the connection", &[reset(0, code::CANCEL)], invalid),
        case("RST_STREAM of an idle stream", &[reset(1, code::CANCEL)], invalid),
        case("RST_STREAM of 3 bytes", &[watch(1), frame(kind::RST_STREAM, 0, 1, &[0; 3])], invalid),
        case("RST_STREAM twice", &[watch(1), reset(1, code::CANCEL), reset(1, code::CANCEL)], Served),
        case("PING of 7 bytes", &[frame(kind::PING, 0, 0, &[0; 7])], invalid),
        case("PING of a stream", &[frame(kind::PING, 0, 1, &[0; 8])], invalid),
        case("an unsolicited PING ACK", &[frame(kind::PING, flag::ACK, 0, b"unasked!")], Served),
        case("GOAWAY of 4 bytes", &[frame(kind::GOAWAY, 0, 0, &[0; 4])], invalid),
        case("SETTINGS of 5 bytes", &[frame(kind::SETTINGS, 0, 0, &[0; 5])], invalid),
        case("SETTINGS of a stream", &[frame(kind::SETTINGS, 0, 1, &[])], invalid),
        case("SETTINGS ACK with a payload", &[frame(kind::SETTINGS, flag::ACK, 0, &[0; 6])], invalid),
        case("an unsolicited SETTINGS ACK", &[frame(kind::SETTINGS, flag::ACK, 0, &[])], invalid),
        case("an unknown setting", &[settings(&[(0xbeef, 7)])], Served),
        case("ENABLE_PUSH of 2", &[settings(&[(setting::ENABLE_PUSH, 2)])], invalid),
        case("INITIAL_WINDOW_SIZE of 2^31", &[settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 31)])], invalid),
        case("MAX_FRAME_SIZE of 16,383", &[settings(&[(setting::MAX_FRAME_SIZE, 16_383)])], invalid),
        case("MAX_FRAME_SIZE of 2^24", &[settings(&[(setting::MAX_FRAME_SIZE, 1 << 24)])], invalid),
        case(
            "INITIAL_WINDOW_SIZE that overflows a stream's window",
            &[watch(1), window_update(1, 1), settings(&[(setting::INITIAL_WINDOW_SIZE, (1 << 31) - 1)])],
            GoAway(code::FLOW_CONTROL_ERROR),
        ),
        case("WINDOW_UPDATE of 3 bytes", &[frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3])], invalid),
        case("WINDOW_UPDATE of the connection by 0", &[window_update(0, 0)], invalid),
        case("WINDOW_UPDATE of a stream by 0", &[watch(1), window_update(1, 0)], invalid),
        case(
            "WINDOW_UPDATE of the connection by too much",
            &[window_update(0, (1 << 31) - 1)],
            GoAway(code::FLOW_CONTROL_ERROR),
        ),
        case(
            "WINDOW_UPDATE of a stream by too much",
            &[watch(1), window_update(1, (1 << 31) - 1)],
            Reset(1, code::FLOW_CONTROL_ERROR),
        ),
        case("WINDOW_UPDATE of an idle stream", &[window_update(1, 1)], invalid),
    ]
}

#[tokio::test]
async fn invalid_frames_end_their_stream_or_connection() {
    let target = Target::shared().await;
    let mismatches = target.run(Attack::named("invalid frames"), async {
        let mut mismatches = Vec::new();
        for Case { name, sent, reaction } in cases() {
            let mut client = FrameClient::handshake(target.address()).await.unwrap();
            client.send(&sent).await;
            let found = client.reaction().await;
            if found != reaction {
                mismatches.push(format!("{name}: {found:?}, not {reaction:?}"));
            }
        }
        mismatches
    });
    assert_eq!(mismatches.await, Vec::<String>::new());
}

#[tokio::test]
async fn connections_with_an_invalid_preface_are_closed() {
    let target = Target::shared().await;
    let attack = async {
        let prefaces = [
            &b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..],
            &b"POST /tenure.v1.LockService/ListLocks HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n\0\0\0\0\0"[..],
            &[
                0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0,
            ],
            &[0xff; 64],
        ];
        let mut found = Vec::new();
        for sent in prefaces.iter().copied().chain([&b"PRI * HTTP/2.0\r\n\r\nsm\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..]]) {
            let mut client = FrameClient::open(target.address()).await.unwrap();
            client.send(sent).await;
            found.push(client.reaction().await);
        }
        let mut unsettled = FrameClient::open(target.address()).await.unwrap();
        unsettled.send(&[PREFACE, &ping(*b"too soon"), &watch(1)].concat()).await;
        (found, unsettled.reaction().await)
    };
    let (found, unsettled) = target.run(Attack::named("invalid prefaces"), attack).await;
    assert_eq!((found, unsettled), (vec![Reaction::Closed; 5], Reaction::Served));
}
