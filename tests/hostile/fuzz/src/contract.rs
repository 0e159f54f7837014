//! The contract as data: its methods, messages and rejections.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor};
use tenure_proto::v1::ErrorReason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(tenure_proto::FILE_DESCRIPTOR_SET).expect("the compiled contract"));

/// All methods.
pub(crate) static METHODS: LazyLock<Vec<MethodDescriptor>> = LazyLock::new(|| {
    let services = POOL.services().filter(|service| service.package_name() == "tenure.v1");
    services.flat_map(|service| service.methods().collect::<Vec<_>>()).collect()
});

/// The unary methods.
pub(crate) static CALLS: LazyLock<Vec<MethodDescriptor>> = LazyLock::new(|| {
    let once = METHODS.iter().filter(|method| !method.is_client_streaming() && !method.is_server_streaming());
    once.cloned().collect()
});

/// A message type, by its name.
pub(crate) fn message(name: &str) -> MessageDescriptor {
    POOL.get_message_by_name(&format!("tenure.v1.{name}")).expect("a message of the contract")
}

/// The path of a call.
pub(crate) fn path(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

/// The reason of a rejection, whose parts must be consistent: a reason of the contract, a code that matches it, and a
/// field of the request and its bound if a field is out of bounds.
pub(crate) fn check_rejection(status: &Status, request: &MessageDescriptor) -> ErrorReason {
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("no error info: {status:?}"));
    assert_eq!(info.domain, "tenure");
    let reason = ErrorReason::from_str_name(&format!("ERROR_REASON_{}", info.reason));
    let reason = reason.unwrap_or_else(|| panic!("no reason of the contract: {status:?}"));
    assert!(!status.message().is_empty() && status.message().len() < 4_096, "{status:?}");
    assert_eq!(status.code() == Code::InvalidArgument, reason == ErrorReason::InvalidField, "{status:?}");
    if reason == ErrorReason::InvalidField {
        let (field, bound) = (&info.metadata["field"], &info.metadata["bound"]);
        let first = field.split(['.', '[']).next().unwrap_or_default();
        assert!(request.get_field_by_name(first).is_some(), "{field} is no field of {}", request.full_name());
        assert!(!bound.is_empty(), "{status:?}");
        let violations = &details.bad_request().expect("a field violation").field_violations;
        assert!(matches!(&violations[..], [one] if one.field == *field && one.description == *bound), "{status:?}");
    }
    if status.code() == Code::Unavailable {
        assert!(details.retry_info().is_some(), "{status:?}");
    }
    reason
}
