//! The span of a call: of a plain one, or of a stream's command, which has the meaning and the name of the plain call.

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;
use tenure_proto::v1::command::Kind;
use tonic::Code;

use crate::telemetry::traces::{self, Traced, parent};

/// The calls that have a span. Streams and watches have none: they may never end, and a span is exported only at its
/// end. Neither have other paths, because their names would be the caller's choice.
const CALLS: [&str; 22] = [
    "tenure.v1.GroupService/AssignGroup",
    "tenure.v1.GroupService/ConfigureGroup",
    "tenure.v1.GroupService/GetGroup",
    "tenure.v1.GroupService/JoinGroup",
    "tenure.v1.GroupService/LeaveGroup",
    "tenure.v1.GroupService/ListGroups",
    "tenure.v1.LockService/Acquire",
    "tenure.v1.LockService/CancelAcquire",
    "tenure.v1.LockService/ConfigureLock",
    "tenure.v1.LockService/Evict",
    "tenure.v1.LockService/GetLock",
    "tenure.v1.LockService/ListBlocked",
    "tenure.v1.LockService/ListHistory",
    "tenure.v1.LockService/ListLocks",
    "tenure.v1.LockService/Release",
    "tenure.v1.LockService/Transfer",
    "tenure.v1.LockService/UpdateClaim",
    "tenure.v1.ServerService/ListServers",
    "tenure.v1.SessionService/CloseSession",
    "tenure.v1.SessionService/GetSession",
    "tenure.v1.SessionService/ListSessions",
    "tenure.v1.SessionService/OpenSession",
];

/// Has a span only as a plain call: a stream renews by keep-alives, which are very many and have none.
const RENEW: &str = "tenure.v1.SessionService/Renew";

/// The span of a plain call, by its path and headers.
pub(super) fn call<B>(request: &http::Request<B>) -> Traced {
    let path = request.uri().path().trim_start_matches('/');
    let name = CALLS.iter().chain([&RENEW]).find(|name| **name == path);
    name.map_or_else(Traced::default, |name| {
        let traced = Traced::start(*name, SpanKind::Server, &parent::of_headers(request.headers()));
        describe(&traced, name);
        traced
    })
}

/// The span of a stream's command. `traceparent` is the command's field.
pub(in crate::grpc) fn command(kind: &Kind, traceparent: &str) -> Traced {
    // Checked first, because this runs for every command.
    if !traces::are_exported() {
        return Traced::default();
    }
    let Some(name) = meaning(kind) else { return Traced::default() };
    let traced = Traced::start(name, SpanKind::Server, &parent::named(traceparent, ""));
    describe(&traced, name);
    traced.note(|| [KeyValue::new("tenure.stream", true)]);
    traced
}

fn meaning(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::OpenSession(_) => "tenure.v1.SessionService/OpenSession",
        Kind::AttachSession(_) => "tenure.v1.ClientService/AttachSession",
        Kind::CloseSession(_) => "tenure.v1.SessionService/CloseSession",
        Kind::Acquire(_) => "tenure.v1.LockService/Acquire",
        Kind::Release(_) => "tenure.v1.LockService/Release",
        Kind::CancelAcquire(_) => "tenure.v1.LockService/CancelAcquire",
        Kind::GetLock(_) => "tenure.v1.LockService/GetLock",
        Kind::GetSession(_) => "tenure.v1.SessionService/GetSession",
        Kind::Transfer(_) => "tenure.v1.LockService/Transfer",
        Kind::UpdateClaim(_) => "tenure.v1.LockService/UpdateClaim",
        Kind::JoinGroup(_) => "tenure.v1.GroupService/JoinGroup",
        Kind::LeaveGroup(_) => "tenure.v1.GroupService/LeaveGroup",
        Kind::ConfigureGroup(_) => "tenure.v1.GroupService/ConfigureGroup",
        Kind::Assign(_) => "tenure.v1.GroupService/AssignGroup",
        Kind::GetGroup(_) => "tenure.v1.GroupService/GetGroup",
        Kind::KeepAlive(_) | Kind::Watch(_) | Kind::Cancel(_) => return None,
    })
}

fn describe(traced: &Traced, name: &'static str) {
    traced.note(|| {
        let (service, method) = name.split_once('/').unwrap_or((name, ""));
        [
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.service", service),
            KeyValue::new("rpc.method", method),
        ]
    });
}

/// Records the status that a call ends with.
pub(in crate::grpc) fn answered(traced: &Traced, code: Code) {
    traced.note(|| [KeyValue::new("rpc.grpc.status_code", i64::from(i32::from(code)))]);
    if is_fault(code) {
        traced.fail(code.description());
    }
}

/// Whether the server is at fault, according to the semantic conventions for RPC.
fn is_fault(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;

    #[test]
    fn every_call_of_the_contract_that_ends_has_a_span() {
        let contract = FileDescriptorSet::decode(tenure_proto::FILE_DESCRIPTOR_SET).expect("readable");
        let mut ending = BTreeSet::new();
        for file in contract.file.iter().filter(|file| file.package() == "tenure.v1") {
            for service in &file.service {
                let ends = service.method.iter().filter(|method| !method.server_streaming());
                ending.extend(ends.map(|method| format!("tenure.v1.{}/{}", service.name(), method.name())));
            }
        }
        let named: BTreeSet<String> = CALLS.iter().chain([&RENEW]).map(ToString::to_string).collect();
        assert_eq!(named, ending);
    }
}
