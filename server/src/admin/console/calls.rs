//! Calls the services of this process as if over the network. Replies arrive as JSON.

use std::sync::Arc;

use bytes::BufMut;
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Extensions, HeaderMap};
use prost_reflect::MessageDescriptor;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::{Request, Status, Streaming};

use super::{Service, contract};
use crate::transport::Peer;

/// Calls a method with an encoded message, unary or with a stream of replies of this kind. Of the caller's headers,
/// only the authorization is passed on.
pub(super) async fn call(
    service: Service,
    method: &str,
    message: Vec<u8>,
    reply: MessageDescriptor,
    headers: &HeaderMap,
    peer: Arc<Peer>,
) -> Result<Streaming<Vec<u8>>, Status> {
    let path: PathAndQuery = format!("/{method}").parse().map_err(|_| Status::unimplemented(""))?;
    let mut passed_on = HeaderMap::new();
    for authorization in headers.get_all(AUTHORIZATION) {
        passed_on.append(AUTHORIZATION, authorization.clone());
    }
    let mut extensions = Extensions::new();
    extensions.insert(peer);
    let request = Request::from_parts(MetadataMap::from_headers(passed_on), extensions, message);
    // The services bound their messages.
    let mut grpc = Grpc::new(service).max_decoding_message_size(usize::MAX);
    let Ok(()) = grpc.ready().await;
    Ok(grpc.server_streaming(request, path, JsonReplies(reply)).await?.into_inner())
}

/// Sends encoded messages, and decodes messages of this kind to JSON.
#[derive(Clone)]
struct JsonReplies(MessageDescriptor);

impl Codec for JsonReplies {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        self.clone()
    }

    fn decoder(&mut self) -> Self {
        self.clone()
    }
}

impl Encoder for JsonReplies {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, message: Vec<u8>, wire: &mut EncodeBuf<'_>) -> Result<(), Status> {
        wire.put_slice(&message);
        Ok(())
    }
}

impl Decoder for JsonReplies {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, wire: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let json = contract::decode(self.0.clone(), wire);
        json.map(Some).map_err(|why| Status::internal(format!("cannot encode the response as JSON: {why}")))
    }
}
