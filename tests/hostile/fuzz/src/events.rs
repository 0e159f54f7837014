//! The stored log: the events of a batch as JSON.

use tenure_server::store::{decode_events, encode_events};

use crate::changes;
use crate::draw::Draw;

/// Readable events have a canonical encoding that reads the same; decided events are read as they were. Unreadable ones
/// are rejected with a reason.
pub fn events(data: &[u8]) {
    if let Some((b'!', rest)) = data.split_first() {
        let (_, log) = changes::table(&mut Draw::new(rest), 64);
        let read = decode_events(&encode_events(&log)).expect("decided events can be read");
        assert_eq!(read, log);
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    match decode_events(text) {
        Ok(events) => {
            let written = encode_events(&events);
            let again = decode_events(&written).expect("written events can be read");
            assert_eq!(again, events, "{written}");
            assert_eq!(encode_events(&again), written);
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}
