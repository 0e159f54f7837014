//! The codec of the generated code: prost's, but a message that cannot be read is the caller's fault and says which field.

use prost::Message;
use prost::bytes::Buf;
use tonic::codec::{BufferSettings, DecodeBuf, Decoder};
use tonic::{Code, Status};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};
use tonic_types::{ErrorDetails, StatusExt};

/// How prost begins to say that a message cannot be read.
const PREFIX: &str = "failed to decode Protobuf message: ";

/// Encodes `T` and decodes `U`.
#[derive(Debug, Clone)]
pub struct Codec<T, U>(ProstCodec<T, U>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Self(ProstCodec::new())
    }
}

impl<T, U> tonic::codec::Codec for Codec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = NamingDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        self.0.encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        NamingDecoder(self.0.decoder())
    }
}

/// Decodes `U`, and names the field that cannot be read.
#[derive(Debug, Clone)]
pub struct NamingDecoder<U>(ProstDecoder<U>);

impl<U: Message + Default> Decoder for NamingDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        self.0.decode(buffer).map_err(|status| unreadable(status.message()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}

/// Decodes a message for those who are served below the generated code.
///
/// # Errors
/// If it cannot be read; says which field.
pub fn decode<M: Message + Default>(wire: impl Buf) -> Result<M, Status> {
    M::decode(wire).map_err(|error| unreadable(&error.to_string()))
}

fn unreadable(message: &str) -> Status {
    let told = message.strip_prefix(PREFIX).unwrap_or(message);
    // "Message.field: what is wrong", with one "Message.field: " for each level of nesting, the innermost first.
    let (path, bound) = told.rsplit_once(": ").map_or(("", told), |(rest, _)| {
        let end = rest.rfind(": ").filter(|_| rest.contains('.')).unwrap_or(rest.len());
        (&rest[..end], told[end..].trim_start_matches(": "))
    });
    let levels = path.split(": ").filter_map(|level| level.split_once('.'));
    let mut fields: Vec<&str> = levels.map(|(_, field)| field).collect();
    fields.reverse();
    let field = if fields.is_empty() { "message".to_owned() } else { fields.join(".") };
    let mut details = ErrorDetails::new();
    details.add_bad_request_violation(&field, bound);
    let facts = [("field".to_owned(), field.clone()), ("bound".to_owned(), bound.to_owned())];
    details.set_error_info("INVALID_FIELD", "tenure", facts);
    Status::with_error_details(Code::InvalidArgument, format!("{field}: {bound}"), details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_field_that_cannot_be_read() {
        let wire = b"\x12\x02\xff\xfe";
        let error = crate::v1::AcquireRequest::decode(&wire[..]).expect_err("not UTF-8");
        let status = unreadable(&error.to_string());
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.message(), "names: invalid string value: data is not UTF-8 encoded");
        let info = status.get_details_error_info().expect("details");
        assert_eq!((info.reason.as_str(), info.metadata["field"].as_str()), ("INVALID_FIELD", "names"));
    }

    #[test]
    fn names_the_whole_path_of_a_nested_field() {
        let wire = b"\x1a\x0a\x0a\x08\x0a\x06\x1a\x04\x12\x02\xff\xfe";
        let error = crate::v1::ConnectRequest::decode(&wire[..]).expect_err("not UTF-8");
        let info = unreadable(&error.to_string()).get_details_error_info().expect("details");
        assert_eq!(info.metadata["field"], "kind.changes.kind.claims.names");
    }

    #[test]
    fn what_is_no_message_at_all_is_the_callers_fault_too() {
        let error = crate::v1::AcquireRequest::decode(&b"\xff\xff\xff"[..]).expect_err("no message");
        assert_eq!(unreadable(&error.to_string()).code(), Code::InvalidArgument);
    }
}
