//! Encodes messages as proto JSON, by the descriptors compiled into `tenure_proto`.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use tenure_proto::v1;

use crate::exit::{self, Failure};

/// A message of the API that can be printed as JSON.
pub trait Message: prost::Message {
    /// Its name in the package.
    const NAME: &'static str;
}

macro_rules! messages {
    ($($message:ident),* $(,)?) => {
        $(impl Message for v1::$message {
            const NAME: &'static str = stringify!($message);
        })*
        #[cfg(test)]
        const ALL: &[&str] = &[$(<v1::$message as Message>::NAME),*];
    };
}

messages!(
    AcquireResponse,
    Claim,
    CloseSessionResponse,
    ConfigureLockResponse,
    ConfigureGroupResponse,
    EvictResponse,
    GetGroupResponse,
    GetLockResponse,
    GetSessionResponse,
    ListHistoryResponse,
    ListBlockedResponse,
    ListGroupsResponse,
    ListLocksResponse,
    ListServersResponse,
    ListSessionsResponse,
    Lock,
    ReleaseResponse,
    RenewResponse,
    Session,
    TransferResponse,
    WatchResponse,
);

/// The descriptor of a message of the API.
fn descriptor(message: &str) -> Option<MessageDescriptor> {
    static POOL: LazyLock<Option<DescriptorPool>> =
        LazyLock::new(|| DescriptorPool::decode(tenure_proto::FILE_DESCRIPTOR_SET).ok());
    POOL.as_ref()?.get_message_by_name(&format!("tenure.v1.{message}"))
}

/// The JSON names of a message's fields; empty if there is no such message.
pub fn fields(message: &str) -> Vec<String> {
    let descriptor = descriptor(message);
    descriptor.iter().flat_map(|message| message.fields()).map(|field| field.json_name().to_owned()).collect()
}

/// The message as proto JSON, including fields with default values.
pub fn value<M: Message>(message: &M) -> Result<serde_json::Value, Failure> {
    let broken = || Failure::new(exit::REFUSED, format!("cannot print tenure.v1.{} as JSON", M::NAME));
    let descriptor = descriptor(M::NAME).ok_or_else(broken)?;
    let dynamic = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice()).map_err(|_| broken())?;
    let options = SerializeOptions::new().skip_default_fields(false);
    dynamic.serialize_with_options(serde_json::value::Serializer, &options).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_are_in_the_contract() {
        for name in ALL {
            assert!(descriptor(name).is_some(), "{name}");
        }
    }

    #[test]
    fn fields_have_the_names_and_forms_of_proto_json() {
        let response = v1::AcquireResponse {
            acquired: true,
            token: 1 << 60,
            session_id: "worker-7".into(),
            ttl: Some(prost_types::Duration { seconds: 1, nanos: 200_000_000 }),
            ..Default::default()
        };
        let json = value(&response).unwrap();
        assert_eq!(json["acquired"], true);
        assert_eq!(json["token"], "1152921504606846976");
        assert_eq!(json["sessionId"], "worker-7");
        assert_eq!(json["ttl"], "1.200s");
    }

    #[test]
    fn defaults_are_there_so_that_programs_can_rely_on_fields() {
        let json = value(&v1::AcquireResponse::default()).unwrap();
        assert_eq!(json["acquired"], false);
        assert_eq!(json["token"], "0");
        let lock = v1::GetLockResponse { lock: Some(v1::Lock::default()), revision: 3 };
        let json = value(&lock).unwrap();
        assert_eq!(json["lock"]["holders"], serde_json::json!([]));
    }
}
