//! Streams that are opened and reset, by the client or by the server, faster than they are served.

use tenure_abuse::frame::{code, data, headers, priority, reset, window_update};
use tenure_abuse::{Attack, FrameClient, Reaction, Target, block, many};

/// A complete call.
fn started(stream: u32) -> Vec<u8> {
    headers(stream, true, &block::call("/tenure.v1.LockService/ListLocks"))
}

fn streams(many: usize) -> impl Iterator<Item = u32> {
    (0..u32::try_from(many).unwrap()).map(|at| at * 2 + 1)
}

/// Sends the pieces one by one, until all are sent or the server closes the connection.
async fn flood(target: &Target, pieces: impl Iterator<Item = Vec<u8>>) -> Reaction {
    let mut client = FrameClient::handshake(target.address()).await.unwrap();
    let all: Vec<Vec<u8>> = pieces.collect();
    for part in all.chunks(200) {
        if !client.send(&part.concat()).await {
            break;
        }
    }
    client.reaction().await
}

/// CVE-2023-44487.
#[tokio::test]
async fn rapid_resets_end_the_connection() {
    let target = Target::shared().await;
    let attack = async || {
        flood(target, streams(many(5_000, 100_000)).map(|id| [started(id), reset(id, code::CANCEL)].concat())).await
    };
    let reactions = target.run_repeatedly(Attack::named("rapid reset"), attack).await;
    assert!(reactions.iter().all(|reaction| reaction.is_shed()), "{reactions:?}");
}

/// Slow enough that each call is served, and so not counted: then the cost is that of the calls.
#[tokio::test]
async fn resets_of_served_calls_cost_no_more_than_the_calls() {
    let target = Target::shared().await;
    let attack = async {
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        let mut pace = tokio::time::interval(std::time::Duration::from_millis(2));
        for id in streams(many(300, 20_000)) {
            let call = headers(id, false, &block::call("/tenure.v1.LockService/Acquire"));
            client.send(&[call, data(id, false, &[0])].concat()).await;
            pace.tick().await;
            if !client.send(&reset(id, code::CANCEL)).await {
                break;
            }
        }
        client.reaction().await
    };
    let reaction = target.run(Attack::named("paced resets"), attack).await;
    // On a busy machine some calls are reset before they are served, and are counted.
    assert!(reaction == Reaction::Served || reaction.is_shed(), "{reaction:?}");
}

/// CVE-2025-8671: the client makes the server reset its streams.
#[tokio::test]
async fn streams_that_the_server_resets_are_counted() {
    type Provoke = (&'static str, fn(u32) -> Vec<u8>);
    let attacks: [Provoke; 3] = [
        ("a window that overflows", |id| window_update(id, (1 << 31) - 1)),
        ("a priority on itself", |id| priority(id, id)),
        ("invalid headers", |id| headers(id, true, &block::literal("X", b""))),
    ];
    let target = Target::shared().await;
    let attack = async || {
        let mut found = Vec::new();
        for (name, provoke) in attacks {
            let call = move |id| match name {
                "invalid headers" => provoke(id),
                _ => [headers(id, false, &block::call("/tenure.v1.LockService/Acquire")), provoke(id)].concat(),
            };
            found.push((name, flood(target, streams(many(3_000, 50_000)).map(call)).await));
        }
        found
    };
    let found = target.run_repeatedly(Attack::named("resets by the server"), attack).await;
    for (name, reaction) in found.concat() {
        // Invalid headers are a connection error: they end the connection at once.
        let is_over = reaction == Reaction::GoAway(code::PROTOCOL_ERROR) && name == "invalid headers";
        assert!(is_over || reaction.is_shed(), "{name}: {reaction:?}");
    }
}

/// CVE-2019-9514: each stream requests something that is rejected at once.
#[tokio::test]
async fn calls_rejected_at_once_cost_little() {
    let target = Target::shared().await;
    let attack =
        async || flood(target, streams(many(150, 1_000)).map(|id| headers(id, true, &block::call("/no/such")))).await;
    let reactions = target.run_repeatedly(Attack::named("rejected calls"), attack).await;
    assert!(reactions.iter().all(|reaction| *reaction == Reaction::Served || reaction.is_shed()), "{reactions:?}");
}
