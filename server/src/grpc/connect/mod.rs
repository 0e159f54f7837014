//! The declared stream: a client states what it wants, and receives the state of each thing whenever that changes.
//!
//! Each stream is one task. It turns requests into commands of its client, and delivers the states that committed
//! events cause, from a [`Mailbox`](crate::sequencer::Mailbox) that keeps the latest state of each number only. Nothing else is kept per claim.

mod admit;
mod call;
mod client;
mod ending;
mod outbox;
mod states;

use std::sync::Arc;

use tenure_core::{Rejection, ServerId};
use tenure_proto::v1;
use tenure_proto::v1::connect_request::Kind as Request;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use self::admit::Introduction;
pub(super) use self::call::ConnectCalls;
use self::client::Client;
use self::outbox::Outbox;
use super::Api;
use super::authorize::StreamCaller;
use super::framing::Requests;
use super::status::{self, invalid, rejected};
use crate::auth::Caller;
use crate::node::Node;

/// A stream that has not received its Hello yet.
pub(super) struct Connection {
    api: Api,
    server: ServerId,
    server_ended: CancellationToken,
    stream_caller: StreamCaller,
    outbox: Outbox,
}

impl Connection {
    fn new(api: Api, node: &Node, outbox: Outbox, caller: Arc<Caller>) -> Self {
        let (server, server_ended) = (node.id, node.cancel.clone());
        Self { api, server, server_ended, stream_caller: StreamCaller::new(caller), outbox }
    }

    /// Runs until the stream ends. If the client disconnects, this is dropped.
    async fn run(mut self, mut requests: Requests<v1::ConnectRequest>) -> Status {
        let counted = self.stream_caller.caller().clone();
        let ended = async {
            let connecting = async {
                let introduction = self.introduction(&mut requests).await?;
                Client::connect(self, introduction).await
            };
            // In memory of its own: connecting takes more than what follows, which most clients do for long.
            let mut client = Box::pin(connecting).await?;
            Box::pin(client.run(&mut requests)).await
        };
        match ended.await {
            Ok(()) => Status::ok(""),
            Err(status) => {
                status::count(&status, counted.refusals());
                status
            }
        }
    }

    /// Reads the Hello, which may be in several messages.
    async fn introduction(&mut self, requests: &mut Requests<v1::ConnectRequest>) -> Result<Introduction, Status> {
        let mut hello: Option<v1::Hello> = None;
        loop {
            let request = tokio::select! {
                request = requests.next() => request.ok_or_else(|| invalid("hello", "required, as the first message"))??,
                () = self.server_ended.cancelled() => return Err(rejected(Rejection::Draining)),
            };
            let Some(Request::Hello(part)) = request.kind else {
                return Err(invalid("hello", "required, as the first message, before anything else"));
            };
            let whole = admit::join(hello.take(), part)?;
            if !whole.more {
                return admit::introduction(&self.api, &mut self.stream_caller, whole);
            }
            hello = Some(whole);
        }
    }
}
