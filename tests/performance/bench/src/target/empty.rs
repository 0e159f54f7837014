//! A no-op gRPC server in a process of its own: the minimal cost of a gRPC call.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use tenure_harness::Served;
use tokio_stream::Pending;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::cpu::Processes;
use crate::target::{CONNECTIONS, accepts};

/// The hidden argument that starts the bench's program as this server; the port follows.
pub const ARGUMENT: &str = "serve-empty";

/// The service: an empty request and an empty response, under the name of a generated call.
struct Nothing;

#[tonic::async_trait]
impl Health for Nothing {
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse::default()))
    }

    type WatchStream = Pending<Result<HealthCheckResponse, Status>>;

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("there is nothing to watch"))
    }
}

/// Serves until the process ends.
pub async fn serve(port: u16) -> anyhow::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Ok(Server::builder().add_service(HealthServer::new(Nothing)).serve(address).await?)
}

/// The server's process.
#[derive(Debug)]
pub struct Empty(Served);

impl Empty {
    /// Starts it.
    pub async fn start() -> anyhow::Result<Self> {
        let command = |_: &Path, port: u16| {
            let mut command = Command::new(std::env::current_exe()?);
            command.args([ARGUMENT, &port.to_string()]);
            Ok(command)
        };
        Ok(Self(Served::start("the empty server", command, accepts).await?))
    }

    /// The processes whose processor time counts.
    pub fn processes(&self) -> Processes {
        Processes { server: self.0.process_id().into_iter().collect(), database: Vec::new() }
    }

    /// Opens the connections that all clients share.
    pub async fn channels(&self) -> anyhow::Result<Vec<Channel>> {
        let mut channels = Vec::new();
        for _ in 0..CONNECTIONS {
            let url = format!("http://127.0.0.1:{}", self.0.port());
            channels.push(Endpoint::from_shared(url)?.connect().await?);
        }
        Ok(channels)
    }
}
