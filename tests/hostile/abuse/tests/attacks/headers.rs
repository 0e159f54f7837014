//! Headers that are invalid, too many, too long, endless, or larger than they look.

use tenure_abuse::frame::{code, data, flag, frame, headers, kind, setting};
use tenure_abuse::{Attack, FrameClient, Reaction, Target, block, many};

const LIST: &str = "/tenure.v1.LockService/ListLocks";

fn with(more: &[Vec<u8>]) -> Vec<u8> {
    [block::call(LIST), more.concat()].concat()
}

/// Blocks that are not valid request headers.
fn invalid() -> Vec<(&'static str, Vec<u8>, Reaction)> {
    use Reaction::{GoAway, Reset};
    let malformed = Reset(1, code::PROTOCOL_ERROR);
    let unreadable = GoAway(code::PROTOCOL_ERROR);
    vec![
        ("a capital letter", with(&[block::literal("X-Upper", b"x")]), unreadable),
        ("a pseudo-header after another header", with(&[block::literal(":path", b"/x")]), malformed),
        (
            "no path",
            [block::literal(":method", b"POST"), block::literal(":scheme", b"http")].concat(),
            Reaction::Served,
        ),
        ("an unknown pseudo-header", [block::literal(":what", b"x"), with(&[])].concat(), unreadable),
        ("a pseudo-header of responses", [block::literal(":status", b"200"), with(&[])].concat(), malformed),
        ("two paths", [block::literal(":path", b"/x"), with(&[])].concat(), malformed),
        ("a connection-specific header", with(&[block::literal("connection", b"close")]), malformed),
        ("transfer-encoding", with(&[block::literal("transfer-encoding", b"chunked")]), malformed),
        ("te for gzip", with(&[block::literal("te", b"gzip")]), malformed),
        ("a line feed in a value", with(&[block::literal("x-two", b"a\r\nb: c")]), unreadable),
        ("a NUL in a name", with(&[block::literal("x-\0", b"a")]), unreadable),
        ("a space in a name", with(&[block::literal("x y", b"a")]), unreadable),
        ("entry 0 of the table", with(&[vec![0x80]]), unreadable),
        ("a missing table entry", with(&[block::indexed(1_000)]), unreadable),
        ("a string that is longer than the block", with(&[vec![0, 0x7f, 0xff, 0xff, 0xff, 0x7f]]), unreadable),
        ("an endless integer", with(&[vec![0xff; 32]]), unreadable),
        ("a table of 1 GiB", [block::table_size(1 << 30), with(&[])].concat(), unreadable),
        ("another size of the table at the end", with(&[block::table_size(0)]), unreadable),
        ("an invalid Huffman code", with(&[vec![0, 0x84, 0xff, 0xff, 0xff, 0xff, 0]]), unreadable),
    ]
}

#[tokio::test]
async fn invalid_headers_end_their_stream_or_connection() {
    let target = Target::shared().await;
    let attack = async {
        let mut failed = Vec::new();
        for (name, block, reaction) in invalid() {
            let mut client = FrameClient::handshake(target.address()).await.unwrap();
            client.send(&headers(1, true, &block)).await;
            let found = client.reaction().await;
            if found != reaction {
                failed.push(format!("{name}: {found:?}, not {reaction:?}"));
            }
        }
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        let false_length = with(&[block::literal("content-length", b"1")]);
        client.send(&[headers(1, false, &false_length), data(1, true, &[0; 5])].concat()).await;
        (failed, client.reaction().await)
    };
    let (failed, false_length) = target.run(Attack::named("invalid headers"), attack).await;
    assert_eq!((failed, false_length), (Vec::<String>::new(), Reaction::Reset(1, code::PROTOCOL_ERROR)));
}

/// CVE-2024-27316 and similar: an endless sequence of CONTINUATION frames.
#[tokio::test]
async fn endless_continuation_ends_the_connection() {
    let target = Target::shared().await;
    let long = block::literal("x-long", &[b'a'; 4_000]);
    let floods = [("full ones", long), ("single bytes", vec![0]), ("empty ones", Vec::new())];
    let attack = async || {
        let mut found = Vec::new();
        for (name, part) in &floods {
            let mut client = FrameClient::handshake(target.address()).await.unwrap();
            let begin = frame(kind::HEADERS, 0, 1, &block::call(LIST));
            let part = frame(kind::CONTINUATION, 0, 1, part);
            client.send(&[begin, part.repeat(many(2_000, 100_000))].concat()).await;
            found.push((*name, client.reaction().await));
        }
        found
    };
    for (name, reaction) in target.run_repeatedly(Attack::named("CONTINUATION flood"), attack).await.concat() {
        assert!(reaction.is_shed(), "{name}: {reaction:?}");
    }
}

#[tokio::test]
async fn large_headers_are_rejected() {
    let target = Target::shared().await;
    let entry = block::incremental("x-big", &[b'a'; 3_900]);
    let bombs = [
        // CVE-2016-6581: repeated references to one table entry.
        ("a bomb of references", with(&[entry.clone(), block::indexed(62).repeat(10_000)])),
        ("a bomb that is just too large", with(&[entry, block::indexed(62).repeat(4)])),
        ("many small ones", with(&[block::literal("a", b"b").repeat(2_400)])),
        // CVE-2019-9516: headers with an empty name and value.
        ("headers of no length", with(&[block::literal("", b"").repeat(3_000)])),
        ("a long one", with(&[block::literal("x-long", &[b'a'; 16_200])])),
    ];
    let attack = async || {
        let mut found = Vec::new();
        for (name, block) in &bombs {
            let mut client = FrameClient::handshake(target.address()).await.unwrap();
            for stream in 0..u32::try_from(many(20, 1_000)).unwrap() {
                client.send(&headers(stream * 2 + 1, true, block)).await;
            }
            found.push((*name, client.reaction().await));
        }
        found
    };
    let all = target.run_repeatedly(Attack::named("header bombs"), attack).await;
    let calm = Reaction::GoAway(code::ENHANCE_YOUR_CALM);
    let expected = [
        ("a bomb of references", calm),
        ("a bomb that is just too large", Reaction::Served),
        ("many small ones", calm),
        ("headers of no length", Reaction::GoAway(code::PROTOCOL_ERROR)),
        ("a long one", Reaction::Served),
    ];
    for found in all {
        for (found, expected) in found.into_iter().zip(expected) {
            // Data sent after the GOAWAY may cause a connection reset.
            let is_closed = found.1 == Reaction::Closed && expected.1 != Reaction::Served;
            assert!(is_closed || found == expected, "{found:?}, not {expected:?}");
        }
    }
}

/// CVE-2026-49975: one-byte headers, for which the server keeps many times as much until the call ends; and the client
/// keeps the call open.
#[tokio::test]
async fn many_headers_are_rejected_and_not_stored() {
    let target = Target::shared().await;
    let first = with(&[block::incremental("a", b""), block::indexed(62).repeat(400)]);
    let next = with(&[block::indexed(62).repeat(400)]);
    let attack = async {
        let mut client =
            FrameClient::handshake_with(target.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
        client.send(&headers(1, false, &first)).await;
        let streams: Vec<u32> = (1..u32::try_from(many(4_000, 9_000)).unwrap()).map(|at| at * 2 + 1).collect();
        // Frames that the server has not processed yet do not count as kept.
        for some in streams.chunks(250) {
            client.send(&some.iter().map(|id| headers(*id, false, &next)).collect::<Vec<_>>().concat()).await;
            let reaction = client.reaction().await;
            assert!(
                matches!(reaction, Reaction::Reset(_, code::NO_ERROR)),
                "not answered before the body: {reaction:?}"
            );
        }
        client.resets.len()
    };
    let ended = target.run(Attack::named("HTTP/2 bomb"), attack).await;
    assert!(ended > many(3_000, 8_000), "only {ended} calls ended");
}

#[tokio::test]
async fn headers_in_several_frames_are_bounded() {
    let target = Target::shared().await;
    let attack = async {
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        let part = block::literal("x-part", &[b'a'; 5_000]);
        let parts = [frame(kind::HEADERS, 0, 1, &block::call(LIST)), frame(kind::CONTINUATION, 0, 1, &part).repeat(3)];
        client.send(&[parts.concat(), frame(kind::CONTINUATION, flag::END_HEADERS, 1, &part)].concat()).await;
        client.reaction().await
    };
    let reaction = target.run(Attack::named("headers of 20 KiB in parts"), attack).await;
    assert_eq!(reaction, Reaction::Reset(1, code::PROTOCOL_ERROR), "only the stream is reset");
}

/// CVE-2023-32731: headers rejected for their size must leave the header tables of both sides consistent.
#[tokio::test]
async fn header_tables_stay_consistent_after_a_rejection() {
    let target = Target::shared().await;
    let attack = async {
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        let large = with(&[
            block::incremental("x-kept", b"yes"),
            block::literal("x-large", &[b'a'; 16_200]),
            block::incremental("te", b"trailers"),
        ]);
        client.send(&headers(1, true, &large)).await;
        // Both entries exist, and no third one.
        client.send(&headers(3, true, &with(&[block::indexed(62), block::indexed(63)]))).await;
        let known = client.reaction().await;
        client.send(&headers(5, true, &with(&[block::indexed(64)]))).await;
        (known, client.reaction().await)
    };
    let reactions = target.run(Attack::named("inconsistent header tables"), attack).await;
    assert_eq!(reactions, (Reaction::Served, Reaction::GoAway(code::PROTOCOL_ERROR)));
}
