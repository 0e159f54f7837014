//! Floods of valid frames.

use std::time::Duration;

use tenure_abuse::frame::{data, flag, frame, headers, kind, ping, priority, setting, settings, window_update};
use tenure_abuse::{Attack, Judge, Speaker, Verdict, block, frame::code, many};

/// How long a client that does not read sends.
const SHOUT: Duration = Duration::from_millis(300);

/// Runs the flood once with and once without reading: the server must not keep an unbounded number of replies.
async fn flood(judge: &Judge, name: &'static str, opening: &[u8], one: &[u8], times: usize) -> Vec<Verdict> {
    let attack = async || {
        let mut deaf = Speaker::greet(judge.address()).await.unwrap();
        deaf.shout(&[opening, &one.repeat(times)].concat(), SHOUT).await;
        let mut speaker = Speaker::greet(judge.address()).await.unwrap();
        speaker.say(opening).await;
        for _ in 0..10 {
            if !speaker.say(&one.repeat(times / 10)).await {
                break;
            }
        }
        speaker.verdict().await
    };
    judge.sustained(Attack::named(name), attack).await
}

fn call(path: &str) -> Vec<u8> {
    headers(1, false, &block::call(path))
}

#[tokio::test]
async fn floods_are_answered_or_ended_and_nobody_else_notices() {
    let judge = Judge::shared().await;
    let keep_alive = call("/tenure.v1.SessionService/KeepAlive");
    let times = many(20_000, 1_000_000);
    let calm = |verdict| matches!(verdict, Verdict::GoAway(code::ENHANCE_YOUR_CALM) | Verdict::Cut);

    let found = flood(judge, "PING flood (CVE-2019-9512)", &[], &ping(*b"flooding"), times).await;
    assert!(found.iter().all(|verdict| *verdict == Verdict::Served || calm(*verdict)), "{found:?}");
    let pong = frame(kind::PING, flag::ACK, 0, b"flooding");
    let found = flood(judge, "flood of answers to no PING", &[], &pong, times).await;
    assert!(found.iter().all(|verdict| *verdict == Verdict::Served || calm(*verdict)), "{found:?}");
    let window = settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535)]);
    let found = flood(judge, "SETTINGS flood (CVE-2019-9515)", &keep_alive, &window, times).await;
    assert!(found.iter().all(|verdict| *verdict == Verdict::Served || calm(*verdict)), "{found:?}");
    let found = flood(judge, "empty frames flood (CVE-2019-9518)", &keep_alive, &data(1, false, &[]), times).await;
    assert!(found.iter().all(|verdict| calm(*verdict)), "{found:?}");
    let shuffled = [priority(1, 3), priority(3, 5), priority(5, 1)].concat();
    let found = flood(judge, "priority flood (CVE-2019-9513)", &keep_alive, &shuffled, times / 3).await;
    assert!(found.iter().all(|verdict| *verdict == Verdict::Served || calm(*verdict)), "{found:?}");
    let found = flood(judge, "WINDOW_UPDATE flood", &keep_alive, &window_update(0, 1), times).await;
    assert!(found.iter().all(|verdict| *verdict == Verdict::Served || calm(*verdict)), "{found:?}");
    let found = flood(judge, "unknown frames flood", &keep_alive, &frame(0x42, 0, 1, b"x"), times).await;
    assert!(found.iter().all(|verdict| *verdict == Verdict::Served || calm(*verdict)), "{found:?}");
}

/// CVE-2019-9511 and CVE-2019-9517: much is requested, and hardly any of it read.
#[tokio::test]
async fn answers_that_nobody_takes_do_not_pile_up() {
    let judge = Judge::shared().await;
    let attack = async {
        let mut speakers = Vec::new();
        for window in [0, 1] {
            let mut speaker =
                Speaker::greet_with(judge.address(), &[(setting::INITIAL_WINDOW_SIZE, window)]).await.unwrap();
            let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
            // file_containing_symbol: "tenure.v1.LockService", whose answer has 30 KB.
            let ask = [&[0, 0, 0, 0, 23, 0x22, 21][..], b"tenure.v1.LockService"].concat();
            for at in 0..u32::try_from(many(100, 2_000)).unwrap() {
                let id = at * 2 + 1;
                let call = [headers(id, false, &block::call(reflection)), data(id, true, &ask)].concat();
                let dribble = if window == 1 { window_update(id, 1) } else { Vec::new() };
                if !speaker.say(&[call, dribble].concat()).await {
                    break;
                }
            }
            let verdict = speaker.verdict().await;
            speakers.push((speaker, verdict));
        }
        speakers.into_iter().map(|(_, verdict)| verdict).collect::<Vec<_>>()
    };
    let verdicts = judge.under(Attack::named("data dribble (CVE-2019-9511, CVE-2019-9517)"), attack).await;
    assert_eq!(verdicts, [Verdict::Served; 2]);
}

/// A client that reads no answers cannot send more than its window.
#[tokio::test]
async fn data_beyond_the_window_ends_the_stream_or_the_connection() {
    let judge = Judge::shared().await;
    let attack = async {
        let mut speaker = Speaker::greet_with(judge.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
        speaker.say(&call("/tenure.v1.SessionService/KeepAlive")).await;
        // Each is answered, with or without an error; none of the answers is read.
        let request = [&[0, 0, 0, 0, 3][..], &[0x12, 1, b's']].concat();
        let frame = data(1, false, &request.repeat(2_000));
        for _ in 0..200 {
            if !speaker.say(&frame).await {
                break;
            }
        }
        speaker.verdict().await
    };
    let verdict = judge.under(Attack::named("DATA beyond the window"), attack).await;
    let is_over = matches!(verdict, Verdict::GoAway(code::FLOW_CONTROL_ERROR) | Verdict::Cut);
    assert!(is_over || verdict == Verdict::Reset(1, code::FLOW_CONTROL_ERROR), "{verdict:?}");
}
