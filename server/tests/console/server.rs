//! A server with a console, and a client for it.

use std::net::SocketAddr;

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tenure_server::admin::Admin;
use tenure_server::admin::console::Console;
use tenure_server::auth::CredentialOptions;
use tenure_server::node::readiness::Readiness;
use tenure_server::server::Server;
use tenure_server::transport::ConnectionLimits;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::serving::{start, within};

pub struct ConsoleServer {
    pub server: Server,
    pub address: SocketAddr,
    pub client: Client,
    pub stop: DropGuard,
}

impl ConsoleServer {
    /// Starts a server that requires no credentials.
    pub async fn start() -> Self {
        Self::with(CredentialOptions::default(), None).await
    }

    /// Starts a server with credentials; `configured` is the address that its admin port is configured with.
    pub async fn with(credentials: CredentialOptions, configured: Option<&str>) -> Self {
        let server = start(credentials, ConnectionLimits::default()).await.unwrap();
        let (_, shown) = watch::channel(Readiness::Ready);
        let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, server.metrics.clone()).await.unwrap();
        let address = admin.address().unwrap();
        let console = Console::new(configured.map_or(address, |configured| configured.parse().unwrap())).unwrap();
        console.serve(server.served.clone());
        let stop = CancellationToken::new();
        tokio::spawn(admin.serve(Some(console), stop.clone()));
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { server, address, client, stop: stop.drop_guard() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn get(&self, path: &str) -> Response {
        within(self.client.get(self.url(path)).send()).await.unwrap()
    }

    /// A request for a method such as `LockService/GetLock`.
    pub fn call(&self, method: &str, request: &Value) -> RequestBuilder {
        let call = self.client.post(self.url(&format!("/console/api/tenure.v1.{method}")));
        call.header("content-type", "application/json").body(request.to_string())
    }

    /// Sends a call, and returns the status and the body of the response.
    pub async fn ask(&self, method: &str, request: Value) -> (u16, Value) {
        answer(self.call(method, &request)).await
    }

    /// The namespace's revision.
    pub async fn revision(&self) -> Value {
        self.ask("LockService/GetLock", json!({"name": "any"})).await.1["revision"].clone()
    }
}

/// Sends a call, and returns the status and the body of the response.
pub async fn answer(call: RequestBuilder) -> (u16, Value) {
    let answer = within(call.send()).await.unwrap();
    let status = answer.status().as_u16();
    let text = within(answer.text()).await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

/// The lines of a stream.
pub struct Lines {
    answer: Response,
    rest: Vec<u8>,
}

impl Lines {
    pub async fn of(call: RequestBuilder) -> Self {
        let answer = within(call.send()).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
        Self { answer, rest: Vec::new() }
    }

    /// The next line; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            match within(self.answer.chunk()).await {
                Ok(chunk) => self.rest.extend(chunk?),
                Err(error) => panic!("the stream breaks: {error:?}"),
            }
        }
    }
}
