//! Lines of the audit log.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tenure_server::auth::fuzzing::{LineFields, line};

use crate::draw::Draw;

/// The limit of a line's length.
const LONGEST: usize = 400_000;

/// Each record is one line of printable ASCII, a JSON object with the recorded values; texts are truncated, and not
/// changed otherwise.
pub fn audit(data: &[u8]) {
    let mut draw = Draw::new(data);
    let (is_rejected, token) = (draw.flag(), draw.number());
    let address = draw.maybe(|draw| SocketAddr::new(IpAddr::from([draw.byte(); 16]), 7420));
    let seconds = draw.number() % 4_000_000_000;
    let text = String::from_utf8_lossy(draw.rest());
    let mut parts = text.split('\u{1f}');
    let mut part = || parts.next().unwrap_or_default();
    let [rule, identity, path, namespace, session, operator, note] = std::array::from_fn(|_| part());
    let names: Vec<&str> = parts.collect();
    let rule = is_rejected.then_some(rule);
    let fields = LineFields {
        rule,
        identity: Some(identity),
        address,
        path,
        namespace,
        names: &names,
        session,
        token,
        operator,
        note,
    };
    let line = line(&fields, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    let line = String::from_utf8(line).expect("ASCII");
    let (object, end) = line.split_at(line.len() - 1);
    assert_eq!(end, "\n");
    assert!(object.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{object}");
    assert!(line.len() <= LONGEST, "{}", line.len());
    let read: Value = serde_json::from_str(object).expect("JSON");
    assert_eq!(read["allowed"], Value::Bool(!is_rejected));
    assert_eq!(read.get("rule").and_then(Value::as_str), rule);
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let path = path.trim_start_matches('/');
    for (key, value) in [("identity", identity), ("call", path), ("namespace", namespace)] {
        assert_eq!(read[key].as_str(), Some(cut(value).as_str()), "{key}");
    }
    for (key, value) in [("session_id", session), ("operator", operator), ("note", note)] {
        assert_eq!(read.get(key).and_then(Value::as_str).unwrap_or_default(), cut(value), "{key}");
    }
    let listed: Vec<&str> =
        read.get("names").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(listed.iter().copied().eq(names.iter().take(100).map(|name| cut(name))), "{listed:?}");
    assert_eq!(read.get("token").and_then(Value::as_u64).unwrap_or_default(), token);
}

fn cut(text: &str) -> String {
    text.chars().take(255).collect()
}
