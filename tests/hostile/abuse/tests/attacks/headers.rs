//! Headers that are invalid, too many, too long, endless, or larger than they look.

use tenure_abuse::frame::{code, data, flag, frame, headers, kind, setting};
use tenure_abuse::{Attack, Judge, Speaker, Verdict, block, many};

const LIST: &str = "/tenure.v1.LockService/ListLocks";

fn with(more: &[Vec<u8>]) -> Vec<u8> {
    [block::call(LIST), more.concat()].concat()
}

/// Blocks that are not valid request headers.
fn wrong() -> Vec<(&'static str, Vec<u8>, Verdict)> {
    use Verdict::{GoAway, Reset};
    let malformed = Reset(1, code::PROTOCOL_ERROR);
    let unreadable = GoAway(code::PROTOCOL_ERROR);
    vec![
        ("a capital letter", with(&[block::literal("X-Upper", b"x")]), unreadable),
        ("a pseudo-header after another header", with(&[block::literal(":path", b"/x")]), malformed),
        ("no path", [block::literal(":method", b"POST"), block::literal(":scheme", b"http")].concat(), Verdict::Served),
        ("an unknown pseudo-header", [block::literal(":what", b"x"), with(&[])].concat(), unreadable),
        ("an answer's pseudo-header", [block::literal(":status", b"200"), with(&[])].concat(), malformed),
        ("two paths", [block::literal(":path", b"/x"), with(&[])].concat(), malformed),
        ("a header of the connection", with(&[block::literal("connection", b"close")]), malformed),
        ("transfer-encoding", with(&[block::literal("transfer-encoding", b"chunked")]), malformed),
        ("te for gzip", with(&[block::literal("te", b"gzip")]), malformed),
        ("a line feed in a value", with(&[block::literal("x-two", b"a\r\nb: c")]), unreadable),
        ("a NUL in a name", with(&[block::literal("x-\0", b"a")]), unreadable),
        ("a space in a name", with(&[block::literal("x y", b"a")]), unreadable),
        ("entry 0 of the table", with(&[vec![0x80]]), unreadable),
        ("an entry that is not there", with(&[block::indexed(1_000)]), unreadable),
        ("a string that goes on after the block", with(&[vec![0, 0x7f, 0xff, 0xff, 0xff, 0x7f]]), unreadable),
        ("an integer without end", with(&[vec![0xff; 32]]), unreadable),
        ("a table of 1 GiB", [block::table_size(1 << 30), with(&[])].concat(), unreadable),
        ("another size of the table at the end", with(&[block::table_size(0)]), unreadable),
        ("a Huffman code that is none", with(&[vec![0, 0x84, 0xff, 0xff, 0xff, 0xff, 0]]), unreadable),
    ]
}

#[tokio::test]
async fn headers_that_are_wrong_end_what_they_are_about() {
    let judge = Judge::shared().await;
    let attack = async {
        let mut failed = Vec::new();
        for (name, block, verdict) in wrong() {
            let mut speaker = Speaker::greet(judge.address()).await.unwrap();
            speaker.say(&headers(1, true, &block)).await;
            let found = speaker.verdict().await;
            if found != verdict {
                failed.push(format!("{name}: {found:?}, not {verdict:?}"));
            }
        }
        let mut speaker = Speaker::greet(judge.address()).await.unwrap();
        let lying = with(&[block::literal("content-length", b"1")]);
        speaker.say(&[headers(1, false, &lying), data(1, true, &[0; 5])].concat()).await;
        (failed, speaker.verdict().await)
    };
    let (failed, lying) = judge.under(Attack::named("wrong headers"), attack).await;
    assert_eq!((failed, lying), (Vec::<String>::new(), Verdict::Reset(1, code::PROTOCOL_ERROR)));
}

/// CVE-2024-27316 and similar: an endless sequence of CONTINUATION frames.
#[tokio::test]
async fn continuation_without_end_ends_the_connection() {
    let judge = Judge::shared().await;
    let long = block::literal("x-long", &[b'a'; 4_000]);
    let floods = [("full ones", long), ("single bytes", vec![0]), ("empty ones", Vec::new())];
    let attack = async || {
        let mut found = Vec::new();
        for (name, part) in &floods {
            let mut speaker = Speaker::greet(judge.address()).await.unwrap();
            let begin = frame(kind::HEADERS, 0, 1, &block::call(LIST));
            let part = frame(kind::CONTINUATION, 0, 1, part);
            speaker.say(&[begin, part.repeat(many(2_000, 100_000))].concat()).await;
            found.push((*name, speaker.verdict().await));
        }
        found
    };
    for (name, verdict) in judge.sustained(Attack::named("CONTINUATION flood"), attack).await.concat() {
        // Data sent after the GOAWAY may cause a connection reset.
        assert!(matches!(verdict, Verdict::GoAway(code::ENHANCE_YOUR_CALM) | Verdict::Cut), "{name}: {verdict:?}");
    }
}

#[tokio::test]
async fn large_headers_are_refused() {
    let judge = Judge::shared().await;
    let entry = block::kept("x-big", &[b'a'; 3_900]);
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
            let mut speaker = Speaker::greet(judge.address()).await.unwrap();
            for stream in 0..u32::try_from(many(20, 1_000)).unwrap() {
                speaker.say(&headers(stream * 2 + 1, true, block)).await;
            }
            found.push((*name, speaker.verdict().await));
        }
        found
    };
    let all = judge.sustained(Attack::named("header bombs"), attack).await;
    let calm = Verdict::GoAway(code::ENHANCE_YOUR_CALM);
    let expected = [
        ("a bomb of references", calm),
        ("a bomb that is just too large", Verdict::Served),
        ("many small ones", calm),
        ("headers of no length", Verdict::GoAway(code::PROTOCOL_ERROR)),
        ("a long one", Verdict::Served),
    ];
    for found in all {
        for (found, expected) in found.into_iter().zip(expected) {
            // Data sent after the GOAWAY may cause a connection reset.
            let is_cut = found.1 == Verdict::Cut && expected.1 != Verdict::Served;
            assert!(is_cut || found == expected, "{found:?}, not {expected:?}");
        }
    }
}

/// CVE-2026-49975: one-byte headers, for which the server keeps many times as much until the call ends; and the client
/// keeps the call open.
#[tokio::test]
async fn many_headers_are_refused_and_not_kept() {
    let judge = Judge::shared().await;
    let first = with(&[block::kept("a", b""), block::indexed(62).repeat(400)]);
    let next = with(&[block::indexed(62).repeat(400)]);
    let attack = async {
        let mut speaker = Speaker::greet_with(judge.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
        speaker.say(&headers(1, false, &first)).await;
        let streams: Vec<u32> = (1..u32::try_from(many(4_000, 9_000)).unwrap()).map(|at| at * 2 + 1).collect();
        // Frames that the server has not processed yet do not count as kept.
        for some in streams.chunks(250) {
            speaker.say(&some.iter().map(|id| headers(*id, false, &next)).collect::<Vec<_>>().concat()).await;
            let verdict = speaker.verdict().await;
            assert!(
                matches!(verdict, Verdict::Reset(_, code::NO_ERROR)),
                "answered, and no body waited for: {verdict:?}"
            );
        }
        speaker.resets.len()
    };
    let ended = judge.under(Attack::named("HTTP/2 bomb"), attack).await;
    assert!(ended > many(3_000, 8_000), "{ended} calls were heard to be over");
}

#[tokio::test]
async fn headers_without_end_of_their_frames_are_bounded() {
    let judge = Judge::shared().await;
    let attack = async {
        let mut speaker = Speaker::greet(judge.address()).await.unwrap();
        let part = block::literal("x-part", &[b'a'; 5_000]);
        let parts = [frame(kind::HEADERS, 0, 1, &block::call(LIST)), frame(kind::CONTINUATION, 0, 1, &part).repeat(3)];
        speaker.say(&[parts.concat(), frame(kind::CONTINUATION, flag::END_HEADERS, 1, &part)].concat()).await;
        speaker.verdict().await
    };
    let verdict = judge.under(Attack::named("headers of 20 KiB in parts"), attack).await;
    assert_eq!(verdict, Verdict::Reset(1, code::PROTOCOL_ERROR), "the connection goes on");
}

/// CVE-2023-32731: headers rejected for their size must leave the header tables of both sides consistent.
#[tokio::test]
async fn the_table_is_the_same_on_both_sides_after_a_refusal() {
    let judge = Judge::shared().await;
    let attack = async {
        let mut speaker = Speaker::greet(judge.address()).await.unwrap();
        let large = with(&[
            block::kept("x-kept", b"yes"),
            block::literal("x-large", &[b'a'; 16_200]),
            block::kept("te", b"trailers"),
        ]);
        speaker.say(&headers(1, true, &large)).await;
        // Both entries exist, and no third one.
        speaker.say(&headers(3, true, &with(&[block::indexed(62), block::indexed(63)]))).await;
        let known = speaker.verdict().await;
        speaker.say(&headers(5, true, &with(&[block::indexed(64)]))).await;
        (known, speaker.verdict().await)
    };
    let verdicts = judge.under(Attack::named("a table out of step"), attack).await;
    assert_eq!(verdicts, (Verdict::Served, Verdict::GoAway(code::PROTOCOL_ERROR)));
}
