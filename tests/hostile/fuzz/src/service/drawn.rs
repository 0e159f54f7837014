//! Requests drawn from the contract: each field has meaningful values, and some that are out of its bounds.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

use crate::draw::Draw;

const NAMESPACES: [&str; 5] = ["", "", "default", "other", "No Name"];
const NAMES: [&str; 6] = ["a", "b", "a", "a/b", "", "\u{7f}"];
const SESSIONS: [&str; 5] = ["ann", "bob", "ann", "cid", ""];
const TEXTS: [&str; 4] = ["eve", "x", "", "\n"];
const SECONDS: [i64; 5] = [1, 0, 5, 1, -1];
const NANOS: [i32; 4] = [0, 500_000_000, 100_000_000, -1];

/// Values in earlier answers that requests can use.
#[derive(Default)]
pub(super) struct Known {
    numbers: Vec<u64>,
    pages: Vec<String>,
}

impl Known {
    /// Records the values that later requests may refer to.
    pub(super) fn learn(&mut self, answer: &DynamicMessage) {
        for (field, value) in answer.fields() {
            match value {
                Value::U64(number) => self.numbers.insert(0, *number),
                Value::String(text) if field.name() == "next_page_token" => self.pages.insert(0, text.clone()),
                Value::Message(message) => self.learn(message),
                Value::List(many) => many.iter().filter_map(Value::as_message).for_each(|message| self.learn(message)),
                _ => {}
            }
        }
        self.numbers.truncate(64);
        self.pages.truncate(8);
    }

    fn number(&self, draw: &mut Draw<'_>) -> u64 {
        match draw.below(8) {
            7 => draw.number(),
            _ => self.numbers.get(draw.below(16)).copied().unwrap_or_default(),
        }
    }
}

/// A request of this type.
pub(super) fn message(draw: &mut Draw<'_>, descriptor: &MessageDescriptor, known: &Known) -> DynamicMessage {
    let mut message = DynamicMessage::new(descriptor.clone());
    for field in descriptor.fields().filter(|field| field.containing_oneof().is_none_or(|oneof| oneof.is_synthetic())) {
        if is_usual(&field) || draw.flag() {
            message.set_field(&field, value(draw, &field, known));
        }
    }
    for oneof in descriptor.oneofs().filter(|oneof| !oneof.is_synthetic()) {
        let fields: Vec<FieldDescriptor> = oneof.fields().collect();
        let field = &fields[draw.below(fields.len())];
        message.set_field(field, value(draw, field, known));
    }
    message
}

/// Whether a request without the field would only be rejected.
pub(crate) fn is_usual(field: &FieldDescriptor) -> bool {
    let required = ["name", "names", "session_id", "session_ids", "ttl", "group", "token", "operator", "commands"];
    required.contains(&field.name())
}

fn value(draw: &mut Draw<'_>, field: &FieldDescriptor, known: &Known) -> Value {
    if field.is_map() {
        let (key, text) = (known.number(draw), draw.of(&TEXTS).to_owned());
        let Kind::Message(entry) = field.kind() else { return Value::Map(Default::default()) };
        let key = match entry.map_entry_key_field().kind() {
            Kind::Uint64 => MapKey::U64(key),
            _ => MapKey::String(draw.of(&TEXTS).to_owned()),
        };
        return Value::Map([(key, Value::String(text))].into());
    }
    if field.is_list() {
        return Value::List((0..=draw.below(3)).map(|_| single(draw, field, known)).collect());
    }
    single(draw, field, known)
}

fn single(draw: &mut Draw<'_>, field: &FieldDescriptor, known: &Known) -> Value {
    match field.kind() {
        Kind::String => Value::String(text(draw, field.name(), known)),
        Kind::Uint64 => Value::U64(known.number(draw)),
        Kind::Uint32 => Value::U32(draw.of(&[1, 0, 2, 3, 1_000_001])),
        Kind::Int32 => Value::I32(draw.of(&[1, 0, -1, 2, 1_000, 1_001])),
        Kind::Bool => Value::Bool(draw.flag()),
        Kind::Enum(_) => Value::EnumNumber(draw.of(&[1, 0, 2, 3, 4])),
        Kind::Message(duration) if duration.full_name() == "google.protobuf.Duration" => {
            let mut drawn = DynamicMessage::new(duration);
            drawn.set_field_by_name("seconds", Value::I64(draw.of(&SECONDS)));
            drawn.set_field_by_name("nanos", Value::I32(draw.of(&NANOS)));
            Value::Message(drawn)
        }
        Kind::Message(descriptor) => Value::Message(message(draw, &descriptor, known)),
        kind => panic!("the contract has no {kind:?}"),
    }
}

fn text(draw: &mut Draw<'_>, field: &str, known: &Known) -> String {
    match field {
        "namespace" => draw.of(&NAMESPACES).to_owned(),
        "name" | "names" | "prefix" | "prefixes" | "group" | "groups" => draw.of(&NAMES).to_owned(),
        "session_id" | "session_ids" | "to_session_id" => draw.of(&SESSIONS).to_owned(),
        "page_token" => known.pages.get(draw.below(8)).cloned().unwrap_or_else(|| forged(draw)),
        _ => draw.of(&TEXTS).to_owned(),
    }
}

/// A well-formed token that no list returned.
fn forged(draw: &mut Draw<'_>) -> String {
    let scope = draw.of(&[
        "locks/default/",
        "groups/default/",
        "sessions/default",
        "history/default/a",
        "blocked/default/false",
    ]);
    let number = draw.number();
    let last = draw.of(&["", "a", "zz"]);
    tenure_server::grpc::fuzzing::page_token(scope, &format!("{last}{number}-{number}"))
}
