//! Every request of the contract, from its bytes to the lookup of the namespace.

use std::cell::RefCell;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http_body_util::Full;
use prost::bytes::Bytes;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, Value};
use tenure_proto::v1::ErrorReason;
use tenure_server::grpc::{Api, TtlBounds};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::{Code, Status};
use tonic_types::StatusExt;
use tower::ServiceExt;

use crate::contract::{CALLS, check_rejection, path};

/// The longest text of a bounded field, except fields for contents.
const LONGEST: usize = 255;

thread_local! {
    static SERVICES: RefCell<(Runtime, Routes)> = RefCell::new(services());
}

/// The services without a node: requests within the bounds end there.
fn services() -> (Runtime, Routes) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let ttl = TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) };
    (runtime, Api::new(ttl, CancellationToken::new()).routes().prepare())
}

/// Undecodable requests are rejected; requests out of bounds are rejected with the field and the bound; all others are
/// within all bounds.
pub fn requests(data: &[u8]) {
    let Some((first, message)) = data.split_first() else { return };
    let method = &CALLS[usize::from(*first) % CALLS.len()];
    let status = status_of(&path(method), message);
    let Ok(decoded) = DynamicMessage::decode(method.input(), message) else {
        let info = status.get_details_error_info().expect("error info");
        return assert_eq!((status.code(), info.reason.as_str()), (Code::InvalidArgument, "INVALID_FIELD"));
    };
    match check_rejection(&status, &method.input()) {
        ErrorReason::InvalidField => {}
        ErrorReason::StoreUnavailable => decoded.fields().for_each(|(field, value)| check_field(&field, value)),
        reason => panic!("{reason:?} without a node"),
    }
}

/// The status of a call.
fn status_of(path: &str, message: &[u8]) -> Status {
    let length = u32::try_from(message.len()).expect("short").to_be_bytes();
    let body = [&[0], &length[..], message].concat();
    let request = http::Request::post(path).header(CONTENT_TYPE, "application/grpc");
    let request = request.body(Body::new(Full::new(Bytes::from(body)))).expect("a request");
    let response = SERVICES.with_borrow(|(runtime, routes)| runtime.block_on(routes.clone().oneshot(request)));
    let response = response.unwrap_or_else(|never| match never {});
    Status::from_header_map(response.headers()).expect("a status without a body")
}

/// The bounds of a field of this name in any message.
fn check_field(field: &FieldDescriptor, value: &Value) {
    match (field.name(), value) {
        // Contents, which may be long, and fields that are ignored where they do not apply, such as the owner when the
        // session is already open.
        ("config" | "assignments" | "owner" | "operator" | "note", _) => {}
        ("metadata", Value::Map(labels)) => {
            let bytes = labels.iter().map(|(key, value)| {
                let (key, value) = (key.as_str().unwrap_or_default(), value.as_str().unwrap_or_default());
                assert!(!key.is_empty() && !key.contains(char::is_control), "{key:?}");
                key.len() + value.len()
            });
            assert!(bytes.sum::<usize>() <= 4_096);
        }
        (name, Value::String(text)) if name != "page_token" => {
            assert!(text.len() <= LONGEST && !text.contains(char::is_control), "{name}: {text:?}");
        }
        (name, Value::List(many)) => {
            assert!(many.len() <= 1_000, "{name}");
            many.iter().for_each(|one| check_field(field, one));
        }
        ("page_size", Value::I32(size)) => assert!((0..=1_000).contains(size)),
        ("priority", Value::I32(priority)) => assert!((-1_000..=1_000).contains(priority)),
        (name, Value::U64(number)) => assert!(*number <= i64::MAX.unsigned_abs(), "{name}"),
        ("permits" | "limit", Value::U32(count)) => assert!(*count <= 1_000_000),
        (_, Value::Message(message)) if is_duration(field) => {
            let part = |name: &str| message.get_field_by_name(name).map(std::borrow::Cow::into_owned);
            assert!(matches!(part("seconds"), Some(Value::I64(0..=31_536_000))), "{message:?}");
            assert!(matches!(part("nanos"), Some(Value::I32(0..=999_999_999))), "{message:?}");
        }
        (_, Value::Message(message)) => message.fields().for_each(|(field, value)| check_field(&field, value)),
        _ => {}
    }
}

fn is_duration(field: &FieldDescriptor) -> bool {
    matches!(field.kind(), Kind::Message(message) if message.full_name() == "google.protobuf.Duration")
}
