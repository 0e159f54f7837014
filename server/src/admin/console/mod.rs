//! The console is a page for operators on the admin port, with a JSON endpoint for the contract's calls.
//!
//! A call passes through the same layers and services as a gRPC call, with the same authentication, policy, limits,
//! audit log and metrics. On a server without credentials, the console is read-only and available only on this machine.

mod about;
mod answer;
mod calls;
mod contract;
mod error;
mod files;
mod gate;
mod routes;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use http::{Request, Response};
use tonic::body::Body;
use tower::util::BoxCloneSyncService;

pub use self::gate::READING;

use self::contract::Contract;
use crate::auth::Access;
use crate::transport::Limiter;

/// The maximum number of concurrent calls of one kind, ...
const CALLS: usize = 64;

/// ... and the maximum from one address, so that it cannot exclude others.
const CALLS_OF_ONE_ADDRESS: usize = 32;

/// The service that executes calls, as it does those from the network.
pub type Service = BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>;

/// A running server, as used by the console.
#[derive(Clone)]
pub struct Served {
    /// Executes calls.
    pub service: Service,
    /// Identifies the caller before a call occupies any resource.
    pub access: Access,
    /// The host and port for clients.
    pub endpoint: String,
    /// Whether clients use TLS.
    pub has_tls: bool,
    /// The display name of the server.
    pub label: String,
}

/// The console of one server.
#[derive(Clone)]
pub struct Console(Arc<Shared>);

struct Shared {
    contract: Contract,
    /// The address of the admin port.
    admin: SocketAddr,
    served: OnceLock<Served>,
    /// Limits unary calls.
    calls: Limiter,
    /// Limits streams; usually one per open page.
    streams: Limiter,
}

impl Console {
    /// Creates the console of this admin address. It rejects every call until [`Console::serve`].
    ///
    /// # Errors
    /// If the contract's descriptor cannot be read.
    pub fn new(admin: SocketAddr) -> anyhow::Result<Self> {
        let limiter = || Limiter::new(CALLS, CALLS_OF_ONE_ADDRESS);
        let (calls, streams) = (limiter(), limiter());
        Ok(Self(Arc::new(Shared { contract: Contract::read()?, admin, served: OnceLock::new(), calls, streams })))
    }

    /// Sets the server that executes calls.
    pub fn serve(&self, served: Served) {
        // Later calls have no effect: a process has one server.
        let _ = self.0.served.set(served);
    }
}
