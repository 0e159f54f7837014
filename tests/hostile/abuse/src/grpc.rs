//! A caller that sends valid HTTP/2 and possibly invalid gRPC.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, Method, Request};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The timeout of a reply.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The connection window.
const WINDOW: u32 = 8 * 1024 * 1024;

/// The initial limit of concurrent calls, before the server's SETTINGS arrive.
const CALLS: usize = 100;

/// A gRPC message with its length prefix.
#[must_use]
pub fn message(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0][..], &length.to_be_bytes(), message].concat()
}

/// The response to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcResponse {
    /// The HTTP status.
    pub http: u16,
    /// The gRPC status: `None` if the response is not gRPC.
    pub grpc: Option<i32>,
    /// The status message.
    pub text: String,
    /// All headers and trailers, except the date.
    pub headers: Vec<(String, String)>,
    /// The messages with their length prefixes.
    pub body: Vec<u8>,
}

/// A connection.
pub struct GrpcCaller {
    send: SendRequest<Bytes>,
}

impl GrpcCaller {
    /// Connects.
    ///
    /// # Errors
    /// If the server does not listen.
    pub async fn connect(server: SocketAddr) -> anyhow::Result<Self> {
        // Hundreds of small answers may arrive at once; with a small window, this side would treat them as an attack.
        let mut settings = h2::client::Builder::new();
        let settings = settings.initial_connection_window_size(WINDOW).initial_max_send_streams(CALLS);
        let (send, connection) = settings.handshake(TcpStream::connect(server).await?).await?;
        tokio::spawn(connection);
        Ok(Self { send })
    }

    /// A request with these headers besides the standard ones; a header given here replaces a standard one.
    #[must_use]
    pub fn request(path: &str, headers: &[(&str, &str)]) -> http::request::Builder {
        let mut request = Request::builder().method(Method::POST).uri(format!("http://localhost{path}"));
        let usual = [("content-type", "application/grpc"), ("te", "trailers")];
        let given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        for (name, value) in usual.iter().filter(|(name, _)| !given(name)).chain(headers) {
            request = request.header(*name, *value);
        }
        request
    }

    /// Calls a method with this body.
    ///
    /// # Errors
    /// If there is no answer: the stream was reset, or the connection has ended.
    pub async fn call(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> anyhow::Result<GrpcResponse> {
        self.send_request(Self::request(path, headers).body(())?, body).await
    }

    /// Calls a method with this body, and never ends the request.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn call_unfinished(&self, path: &str, body: Bytes) -> anyhow::Result<GrpcResponse> {
        let mut send = self.send.clone().ready().await?;
        let (response, mut stream) = send.send_request(Self::request(path, &[]).body(())?, false)?;
        stream.send_data(body, false)?;
        timeout(TIMEOUT, read(response)).await.context("no answer")?
    }

    /// Calls a method with this body, and waits for its first message. The call ends when the returned value is
    /// dropped.
    ///
    /// # Errors
    /// If there is no such message.
    pub async fn call_on(&self, path: &str, body: Bytes) -> anyhow::Result<impl Sized + use<>> {
        let mut send = self.send.clone().ready().await?;
        let (response, mut stream) = send.send_request(Self::request(path, &[]).body(())?, false)?;
        stream.send_data(body, false)?;
        let mut answer = response.await?.into_body();
        let mut received = Vec::new();
        loop {
            if let Some([_, length @ ..]) = received.first_chunk::<5>()
                && received.len() >= 5 + u32::from_be_bytes(*length) as usize
            {
                return Ok((stream, answer));
            }
            let data = timeout(TIMEOUT, answer.data()).await.context("no answer")?.context("no message")??;
            answer.flow_control().release_capacity(data.len())?;
            received.extend(data);
        }
    }

    /// Makes a call with this body.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn send_request(&self, request: Request<()>, body: &[u8]) -> anyhow::Result<GrpcResponse> {
        let mut send = self.send.clone().ready().await?;
        let (response, mut stream) = send.send_request(request, false)?;
        // The server may reject the call before it has read the body.
        let _ = stream.send_data(Bytes::copy_from_slice(body), true);
        timeout(TIMEOUT, read(response)).await.context("no answer")?
    }
}

async fn read(response: h2::client::ResponseFuture) -> anyhow::Result<GrpcResponse> {
    let (head, mut stream) = response.await?.into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend(data);
    }
    let trailers = stream.trailers().await?.unwrap_or_default();
    let find = |name: &str| trailers.get(name).or_else(|| head.headers.get(name)).cloned();
    let grpc = find("grpc-status").and_then(|status| status.to_str().ok()?.parse().ok());
    let text = find("grpc-message").map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
    if head.status.is_informational() {
        bail!("an answer of status {}", head.status);
    }
    let headers = lines(&head.headers).chain(lines(&trailers)).collect();
    Ok(GrpcResponse { http: head.status.as_u16(), grpc, text: text.unwrap_or_default(), headers, body })
}

fn lines(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    let lines = headers.iter().filter(|(name, _)| *name != "date");
    lines.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
}
