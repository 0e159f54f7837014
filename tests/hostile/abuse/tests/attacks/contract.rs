//! Builds a request for every call of the contract from its descriptor, so that new calls are covered automatically.

use prost::Message;
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};
use tenure_proto::v1::{ConnectRequest, Declaration, DeclaredClaim, DeclaredSession, Hello, connect_request};

/// The number of the claim that is declared on a stream.
pub const CLAIM: u64 = 2;

/// The subject of a call.
#[derive(Clone, Copy)]
pub struct About<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub session: &'a str,
    pub token: u64,
}

/// The descriptor of the contract.
pub struct Contract(FileDescriptorSet);

impl Contract {
    pub fn read() -> Self {
        Self(FileDescriptorSet::decode(tenure_proto::FILE_DESCRIPTOR_SET).unwrap())
    }

    fn message(&self, name: &str) -> &DescriptorProto {
        let name = name.trim_start_matches(".tenure.v1.");
        let mut files = self.0.file.iter().filter(|file| file.package() == "tenure.v1");
        files.find_map(|file| file.message_type.iter().find(|message| message.name() == name)).unwrap()
    }

    /// The path of each call with its message.
    pub fn calls(&self, about: About<'_>) -> Vec<(String, Vec<u8>)> {
        let mut calls = Vec::new();
        for file in self.0.file.iter().filter(|file| file.package() == "tenure.v1") {
            for service in &file.service {
                for method in &service.method {
                    let path = format!("/tenure.v1.{}/{}", service.name(), method.name());
                    if method.input_type() == ".tenure.v1.ConnectRequest" {
                        calls.push((path, hello(about)));
                    } else {
                        calls.push((path, self.fill(method.input_type(), about)));
                    }
                }
            }
        }
        calls
    }

    /// Builds a message whose fields refer to `about`.
    fn fill(&self, name: &str, about: About<'_>) -> Vec<u8> {
        let mut filled = Vec::new();
        for field in &self.message(name).field {
            let text = match field.name() {
                "namespace" => about.namespace,
                "name" | "names" | "group" | "prefix" => about.name,
                "session_id" => about.session,
                "operator" => "eve",
                _ => "",
            };
            match (field.r#type(), field.name()) {
                (Type::String, _) if !text.is_empty() => filled.extend(bytes(field.number(), text.as_bytes())),
                (Type::Uint64, "token" | "membership_revision") => {
                    filled.extend(key(field.number(), 0));
                    prost::encoding::encode_varint(about.token, &mut filled);
                }
                (Type::Message, "ttl") => filled.extend(bytes(field.number(), &[0x08, 60])),
                (Type::Message, "wait" | "settings") => filled.extend(bytes(field.number(), &[])),
                _ => {}
            }
        }
        filled
    }
}

/// The start of a declared stream, with a claim.
fn hello(about: About<'_>) -> Vec<u8> {
    let ttl = Some(prost_types::Duration { seconds: 60, nanos: 0 });
    let session_id = about.session.to_owned();
    let open = Some(DeclaredSession { session_id, ttl, ..DeclaredSession::default() });
    let claims = vec![DeclaredClaim { number: CLAIM, names: vec![about.name.to_owned()], ..DeclaredClaim::default() }];
    let declared = vec![Declaration { session: 1, open, claims, memberships: Vec::new() }];
    // Each client connects once.
    let client_id = format!("{:0>16}", about.name);
    let hello = Hello { namespace: about.namespace.to_owned(), client_id, epoch: 1, declared, ..Hello::default() };
    ConnectRequest { kind: Some(connect_request::Kind::Hello(hello)) }.encode_to_vec()
}

fn key(number: i32, wire: u64) -> Vec<u8> {
    let mut key = Vec::new();
    prost::encoding::encode_varint(u64::try_from(number).unwrap() << 3 | wire, &mut key);
    key
}

/// A length-delimited field.
fn bytes(number: i32, value: &[u8]) -> Vec<u8> {
    let mut field = key(number, 2);
    prost::encoding::encode_varint(value.len() as u64, &mut field);
    field.extend(value);
    field
}
