//! Streams that are opened and reset, by the client or by the server, faster than they are served.

use tenure_abuse::frame::{code, data, headers, priority, reset, window_update};
use tenure_abuse::{Attack, Judge, Speaker, Verdict, block, many};

/// An Acquire that waits for a lock held by the healthy session, or not: either way the call has started.
fn begun(stream: u32) -> Vec<u8> {
    headers(stream, true, &block::call("/tenure.v1.LockService/ListLocks"))
}

fn streams(many: usize) -> impl Iterator<Item = u32> {
    (0..u32::try_from(many).unwrap()).map(|at| at * 2 + 1)
}

/// Sends the pieces one by one, until all are sent or the server closes the connection.
async fn flood(judge: &Judge, pieces: impl Iterator<Item = Vec<u8>>) -> Verdict {
    let mut speaker = Speaker::greet(judge.address()).await.unwrap();
    let all: Vec<Vec<u8>> = pieces.collect();
    for part in all.chunks(200) {
        if !speaker.say(&part.concat()).await {
            break;
        }
    }
    speaker.verdict().await
}

/// After a GOAWAY, data already sent may cause a connection reset before the GOAWAY is read.
fn is_calmed(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::GoAway(code::ENHANCE_YOUR_CALM) | Verdict::Cut)
}

/// CVE-2023-44487.
#[tokio::test]
async fn rapid_resets_end_the_connection() {
    let judge = Judge::shared().await;
    let attack = async || {
        flood(judge, streams(many(5_000, 100_000)).map(|id| [begun(id), reset(id, code::CANCEL)].concat())).await
    };
    let verdicts = judge.sustained(Attack::named("rapid reset"), attack).await;
    assert!(verdicts.iter().all(|verdict| is_calmed(*verdict)), "{verdicts:?}");
}

/// Slow enough that each call is served, and so not counted: then the cost is that of the calls.
#[tokio::test]
async fn resets_of_calls_that_are_served_cost_no_more_than_these_calls() {
    let judge = Judge::shared().await;
    let attack = async {
        let mut speaker = Speaker::greet(judge.address()).await.unwrap();
        let mut pace = tokio::time::interval(std::time::Duration::from_millis(2));
        for id in streams(many(300, 20_000)) {
            let call = headers(id, false, &block::call("/tenure.v1.LockService/Acquire"));
            speaker.say(&[call, data(id, false, &[0])].concat()).await;
            pace.tick().await;
            if !speaker.say(&reset(id, code::CANCEL)).await {
                break;
            }
        }
        speaker.verdict().await
    };
    let verdict = judge.under(Attack::named("paced resets"), attack).await;
    // On a busy machine some calls are reset before they are served, and are counted.
    assert!(verdict == Verdict::Served || is_calmed(verdict), "{verdict:?}");
}

/// CVE-2025-8671: the client makes the server reset its streams.
#[tokio::test]
async fn streams_that_the_server_is_made_to_reset_are_counted() {
    type Wrong = (&'static str, fn(u32) -> Vec<u8>);
    let wrongs: [Wrong; 3] = [
        ("a window that overflows", |id| window_update(id, (1 << 31) - 1)),
        ("a priority on itself", |id| priority(id, id)),
        ("headers that are wrong", |id| headers(id, true, &block::literal("X", b""))),
    ];
    let judge = Judge::shared().await;
    let attack = async || {
        let mut found = Vec::new();
        for (name, wrong) in wrongs {
            let call = move |id| match name {
                "headers that are wrong" => wrong(id),
                _ => [headers(id, false, &block::call("/tenure.v1.LockService/Acquire")), wrong(id)].concat(),
            };
            found.push((name, flood(judge, streams(many(3_000, 50_000)).map(call)).await));
        }
        found
    };
    let found = judge.sustained(Attack::named("resets that the server makes"), attack).await;
    for (name, verdict) in found.concat() {
        // Invalid headers are a connection error: they end the connection at once.
        let is_over = verdict == Verdict::GoAway(code::PROTOCOL_ERROR) && name == "headers that are wrong";
        assert!(is_over || is_calmed(verdict), "{name}: {verdict:?}");
    }
}

/// CVE-2019-9514: each stream requests something that is rejected at once.
#[tokio::test]
async fn calls_that_are_refused_at_once_cost_little() {
    let judge = Judge::shared().await;
    let attack =
        async || flood(judge, streams(many(150, 1_000)).map(|id| headers(id, true, &block::call("/no/such")))).await;
    let verdicts = judge.sustained(Attack::named("refused calls"), attack).await;
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Served || is_calmed(*verdict)), "{verdicts:?}");
}
