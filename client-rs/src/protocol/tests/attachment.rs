//! Attachments are counted, so that servers know which one is late.

use std::collections::BTreeMap;

use super::*;

impl Bench {
    fn refuse_late(&mut self, command: u64, counted: u64) {
        let metadata = BTreeMap::from([("attachment".to_owned(), counted.to_string())]);
        let refusal = v1::Refusal { reason: "LATE_ATTACHMENT".to_owned(), metadata, ..v1::Refusal::default() };
        self.receive(command, Answered::Refusal(refusal));
    }

    /// The only command sent, and its attachment.
    fn counted(&mut self) -> (u64, u64) {
        match self.sent_one() {
            (command, Commanded::OpenSession(request)) => (command, request.attachment),
            (command, Commanded::AttachSession(request)) => (command, request.attachment),
            (_, other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_stream_counts_one_attachment_more() {
    let mut bench = Bench::new();
    let mut answer = bench.opening("a", SessionOptions::new().ttl(TTL));
    assert_eq!(bench.counted().1, 1);
    bench.reconnect();
    let (command, count) = bench.counted();
    assert_eq!(count, 2);
    let granted = v1::OpenSessionResponse { session: Some(session("a", &[])) };
    bench.receive(command, Answered::OpenSession(Box::new(granted)));
    let _session = answer.try_recv().expect("answered").expect("open");
    for expected in 3..6 {
        bench.reconnect();
        let (command, count) = bench.counted();
        assert_eq!(count, expected);
        bench.receive(command, attached("a", &[], 1));
    }
}

/// Another program may have had a session of this id before.
#[test]
fn late_attachment_counts_on_from_the_servers_count() {
    let mut bench = Bench::new();
    let mut answer = bench.opening("a", SessionOptions::new().ttl(TTL));
    let (command, _) = bench.counted();
    bench.refuse_late(command, 7);
    let (command, count) = bench.counted();
    assert_eq!(count, 8);
    let granted = v1::OpenSessionResponse { session: Some(session("a", &[])) };
    bench.receive(command, Answered::OpenSession(Box::new(granted)));
    let opened = answer.try_recv().expect("answered").expect("open");
    bench.reconnect();
    let (command, count) = bench.counted();
    assert_eq!(count, 9);
    bench.refuse_late(command, 20);
    bench.pass(Duration::from_millis(80));
    let (command, count) = bench.counted();
    assert_eq!(count, 21);
    bench.receive(command, attached("a", &[], 1));
    assert_eq!(opened.presence.lost_reason(), None);
}
