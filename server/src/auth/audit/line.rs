//! Encodes lines of the audit log as ASCII-only JSON, so that no name can end a line, forge another, or control a
//! terminal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::Actor;
use super::tally::Sums;

/// The maximum length of a text, in characters. Denied requests were not validated before.
const TEXT: usize = 255;

/// The maximum number of names in a line.
const NAMES: usize = 100;

/// An operation, as requested.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Act {
    call: Cow<'static, str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    operator: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

fn short(text: &str) -> String {
    text.chars().take(TEXT).collect()
}

impl Act {
    pub(crate) fn new(call: &'static str) -> Self {
        Self { call: call.into(), ..Self::default() }
    }

    /// An operation by its path, whether or not it exists.
    pub(crate) fn called(path: &str) -> Self {
        Self { call: short(path.trim_start_matches('/')).into(), ..Self::default() }
    }

    /// Sets the namespace.
    #[must_use]
    pub(crate) fn there(mut self, namespace: &str) -> Self {
        self.namespace = if namespace.is_empty() { "default".to_owned() } else { short(namespace) };
        self
    }

    /// Adds names of locks or groups.
    #[must_use]
    pub(crate) fn on<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.names.extend(names.into_iter().take(NAMES).map(short));
        self
    }

    /// Sets the session.
    #[must_use]
    pub(crate) fn by(mut self, session_id: &str) -> Self {
        self.session_id = short(session_id);
        self
    }

    /// Sets the fencing token; 0 is none.
    #[must_use]
    pub(crate) fn with(mut self, token: u64) -> Self {
        self.token = Some(token).filter(|token| *token > 0);
        self
    }

    /// Sets the operator's self-declared name and note.
    #[must_use]
    pub(crate) fn because(mut self, operator: &str, note: &str) -> Self {
        (self.operator, self.note) = (short(operator), short(note));
        self
    }
}

/// One line of the audit log.
#[derive(Default, Serialize)]
pub(super) struct Line {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
    /// The rule that denied the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<SocketAddr>,
    #[serde(flatten)]
    act: Option<Act>,
    /// The number of denials of a flood that were not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusals_left_out: Option<u64>,
    /// The number of lost lines: they came faster than they could be written, or could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
}

impl Line {
    pub(super) fn new(actor: Actor<'_>, act: &Act, rule: Option<&str>) -> Self {
        Self {
            allowed: Some(rule.is_none()),
            rule: rule.map(str::to_owned),
            identity: actor.identity.map(short),
            address: actor.address,
            act: Some(act.clone()),
            ..Self::default()
        }
    }

    /// A line with the number of lines not written, if there were any.
    pub(super) fn sums(Sums { lost, left_out }: Sums) -> Option<Self> {
        let some = |many: u64| (many > 0).then_some(many);
        (lost + left_out > 0).then(|| Self { lost: some(lost), refusals_left_out: some(left_out), ..Self::default() })
    }

    /// Encodes the line, including its line break.
    pub(super) fn encode(mut self, now: SystemTime) -> Vec<u8> {
        self.time = humantime::format_rfc3339_millis(now).to_string();
        let mut bytes = Vec::new();
        // Serializing to memory with text keys cannot fail.
        let _ = self.serialize(&mut Serializer::with_formatter(&mut bytes, Ascii));
        bytes.push(b'\n');
        bytes
    }
}

/// Compact JSON in which everything beyond printable ASCII is escaped.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for letter in fragment.chars() {
            match letter {
                ' '..='~' => CompactFormatter.write_string_fragment(writer, letter.encode_utf8(&mut [0; 4]))?,
                _ => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        write!(writer, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(act: &Act, rule: Option<&str>) -> String {
        let actor = Actor { identity: Some("token:ann"), address: Some(([10, 0, 0, 1], 4_711).into()) };
        String::from_utf8(Line::new(actor, act, rule).encode(SystemTime::UNIX_EPOCH)).expect("ASCII")
    }

    #[test]
    fn line_has_actor_act_and_address() {
        let act = Act::new("tenure.v1.LockService/Evict").there("").on(["job"]).with(7).because("eve", "stuck");
        assert_eq!(
            encoded(&act, None),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"allowed\":true,\"identity\":\"token:ann\",\"address\":\"10.0.0.1:4711\",\
             \"call\":\"tenure.v1.LockService/Evict\",\"namespace\":\"default\",\"names\":[\"job\"],\"token\":7,\
             \"operator\":\"eve\",\"note\":\"stuck\"}\n"
        );
        assert!(encoded(&act, Some("policy")).contains("\"allowed\":false,\"rule\":\"policy\""));
    }

    #[test]
    fn control_characters_are_escaped() {
        let control = "a\n{\"allowed\":true}\r\u{1b}[2K\u{202e}\u{2028}\u{7f}\u{85}\"\\\u{1f600}\0";
        let act = Act::new("x").there(control).on([control]).by(control).because(control, control);
        let line = encoded(&act, None);
        assert!(line.trim_end_matches('\n').bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!((read["names"][0].as_str(), read["note"].as_str()), (Some(control), Some(control)));
    }

    #[test]
    fn lines_that_were_not_written_are_summed_up_in_one() {
        let shown = |sums| Line::sums(sums).map(|line| String::from_utf8(line.encode(SystemTime::UNIX_EPOCH)));
        assert_eq!(shown(Sums::default()), None);
        let line = "{\"time\":\"1970-01-01T00:00:00.000Z\",\"refusals_left_out\":70,\"lost\":3}\n".to_owned();
        assert_eq!(shown(Sums { lost: 3, left_out: 70 }), Some(Ok(line)));
    }

    #[test]
    fn unchecked_text_is_cut() {
        let long = "x".repeat(10_000);
        let many: Vec<&str> = std::iter::repeat_n(long.as_str(), 10_000).collect();
        let line = encoded(&Act::new("x").on(many), Some("policy"));
        assert!(line.len() < (NAMES + 1) * (TEXT + 4), "{}", line.len());
    }
}
