//! A JSON writer that appends directly to a string. The log is written for every batch, and an intermediate
//! representation would cost more than the text itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A JSON object that is being written. Writers leave out fields that are `None`, empty, or zero by nature.
pub(super) struct Object<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> Object<'o> {
    /// Begins an object at the end of the text.
    pub(super) fn begin(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    /// Ends the object.
    pub(super) fn end(self) {
        self.out.push('}');
    }

    /// Writes a number field.
    pub(super) fn number(&mut self, key: &'static str, value: impl Into<i128>) -> &mut Self {
        self.key(key);
        write_number(self.out, value.into());
        self
    }

    /// Writes a number field, unless it is `None`.
    pub(super) fn optional(&mut self, key: &'static str, value: Option<impl Into<i128>>) -> &mut Self {
        if let Some(value) = value {
            self.number(key, value);
        }
        self
    }

    /// Writes a text field.
    pub(super) fn text(&mut self, key: &'static str, value: &str) -> &mut Self {
        self.key(key);
        write_text(self.out, value);
        self
    }

    /// Writes a list of texts, unless it is empty.
    pub(super) fn texts<T: AsRef<str>>(&mut self, key: &'static str, values: &[T]) -> &mut Self {
        if !values.is_empty() {
            self.list(key, values, |value, out| write_text(out, value.as_ref()));
        }
        self
    }

    /// Writes a list field, whose elements `write` writes.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        values: impl IntoIterator<Item = T>,
        write: impl Fn(T, &mut String),
    ) -> &mut Self {
        self.key(key);
        write_list(self.out, values, write);
        self
    }

    /// Writes a labels field, unless it is empty.
    pub(super) fn labels(&mut self, key: &'static str, labels: &BTreeMap<String, String>) -> &mut Self {
        if !labels.is_empty() {
            self.key(key);
            write_labels(self.out, labels);
        }
        self
    }

    /// Writes a key, which contains nothing to escape.
    fn key(&mut self, key: &'static str) {
        self.separate();
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
    }
}

/// Writes labels as an object.
pub(super) fn write_labels(out: &mut String, labels: &BTreeMap<String, String>) {
    let mut object = Object::begin(out);
    for (key, value) in labels {
        object.separate();
        write_text(object.out, key);
        object.out.push(':');
        write_text(object.out, value);
    }
    object.end();
}

/// Writes an array, whose elements `write` writes.
pub(super) fn write_list<T>(out: &mut String, values: impl IntoIterator<Item = T>, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (place, value) in values.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(value, out);
    }
    out.push(']');
}

/// Writes a JSON string: see RFC 8259, section 7.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        out.push_str(&rest[..place]);
        match rest.as_bytes()[place] {
            escaped @ (b'"' | b'\\') => out.extend(['\\', char::from(escaped)]),
            control => drop(write!(out, "\\u{control:04x}")),
        }
        rest = &rest[place + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

pub(super) fn write_number(out: &mut String, value: i128) {
    match u64::try_from(value) {
        Ok(mut value) => {
            let mut digits = [0; 20];
            let mut begin = digits.len();
            loop {
                begin -= 1;
                digits[begin] = b'0' + (value % 10) as u8;
                value /= 10;
                if value == 0 {
                    break;
                }
            }
            out.push_str(std::str::from_utf8(&digits[begin..]).unwrap_or_default());
        }
        Err(_) => drop(write!(out, "{value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json() {
        let mut out = String::new();
        let odd = "a\"b\\c\n\u{1f}\u{7f}é\u{2028}";
        let labels = BTreeMap::from([(odd.to_owned(), "1".to_owned()), ("z".to_owned(), odd.to_owned())]);
        let mut object = Object::begin(&mut out);
        object.number("least", i64::MIN).number("most", u64::MAX).number("zero", 0).optional("none", None::<u64>);
        object.text("text", odd).texts("texts", &["", odd]).texts::<&str>("no_texts", &[]).labels("labels", &labels);
        object.end();
        let expected = serde_json::json!({
            "least": i64::MIN, "most": u64::MAX, "zero": 0, "text": odd, "texts": ["", odd], "labels": labels,
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), expected);
    }
}
