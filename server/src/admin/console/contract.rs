//! Converts the contract's messages to and from JSON (proto3 mapping).

use anyhow::Context;
use bytes::Buf;
use prost::Message;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions,
};

/// The package of the services that the console can call.
const PACKAGE: &str = "tenure.v1";

/// The methods and messages of the contract.
pub(super) struct Contract(DescriptorPool);

impl Contract {
    pub(super) fn read() -> anyhow::Result<Self> {
        let pool = DescriptorPool::decode(tenure_proto::FILE_DESCRIPTOR_SET).context("reading the contract")?;
        Ok(Self(pool))
    }

    /// Finds a method of the contract by the full name of its service and its own name.
    pub(super) fn method(&self, service: &str, method: &str) -> Option<MethodDescriptor> {
        let service = self.0.get_service_by_name(service).filter(|found| found.package_name() == PACKAGE)?;
        service.methods().find(|known| known.name() == method)
    }
}

/// Encodes a request from JSON. Empty text is an empty request.
pub(super) fn encode(kind: MessageDescriptor, json: &[u8]) -> Result<Vec<u8>, String> {
    if json.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    let message = DynamicMessage::deserialize_with_options(kind, &mut reader, &DeserializeOptions::new());
    let message = message.and_then(|message| reader.end().map(|()| message));
    message.map(|message| message.encode_to_vec()).map_err(|error| error.to_string())
}

/// Decodes an answer to JSON. Default values are omitted, and 64-bit numbers are strings.
pub(super) fn decode(kind: MessageDescriptor, message: impl Buf) -> Result<Vec<u8>, String> {
    let message = DynamicMessage::decode(kind, message).map_err(|error| error.to_string())?;
    let mut json = Vec::new();
    let mut writer = serde_json::Serializer::new(&mut json);
    message.serialize_with_options(&mut writer, &SerializeOptions::new()).map_err(|error| error.to_string())?;
    Ok(json)
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1;

    use super::*;

    fn kind(name: &str) -> MessageDescriptor {
        let contract = Contract::read().expect("readable");
        contract.0.get_message_by_name(name).expect("known")
    }

    #[test]
    fn request_is_encoded_by_the_contract() {
        let json = br#"{"name": "job", "token": "144115188075855873", "operator": "ann"}"#;
        let wire = encode(kind("tenure.v1.EvictRequest"), json).expect("readable");
        let read = v1::EvictRequest::decode(&wire[..]).expect("readable");
        assert_eq!((read.name.as_str(), read.token, read.operator.as_str()), ("job", 144_115_188_075_855_873, "ann"));
        assert_eq!(encode(kind("tenure.v1.EvictRequest"), b" \n").expect("empty"), Vec::<u8>::new());
    }

    #[test]
    fn request_outside_of_the_contract_is_rejected() {
        for json in [r#"{"nmae": "job"}"#, r#"{"token": -1}"#, r#"{"name": 1}"#, "[]", "{} {}", "{"] {
            encode(kind("tenure.v1.EvictRequest"), json.as_bytes()).expect_err(json);
        }
    }

    #[test]
    fn response_is_encoded_by_the_contract() {
        let answer = v1::EvictResponse { revision: 1 << 60, ..v1::EvictResponse::default() };
        let json = decode(kind("tenure.v1.EvictResponse"), &answer.encode_to_vec()[..]).expect("readable");
        assert_eq!(String::from_utf8(json).expect("text"), r#"{"revision":"1152921504606846976"}"#);
    }

    #[test]
    fn only_methods_of_the_contract_are_found() {
        let contract = Contract::read().expect("readable");
        assert!(contract.method("tenure.v1.LockService", "GetLock").is_some());
        for (service, method) in [
            ("tenure.v1.LockService", "Missing"),
            ("LockService", "GetLock"),
            ("tenure.internal.v1.PeerService", "Forward"),
            ("grpc.health.v1.Health", "Check"),
        ] {
            assert!(contract.method(service, method).is_none(), "{service}/{method}");
        }
    }
}
