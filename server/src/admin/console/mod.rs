//! The console: a page for operators on the admin port, and the calls of the contract that it makes, as JSON.
//!
//! A call goes through the same layers and services as one that comes over gRPC: who calls, what the policy says of that, limits, audit
//! log and metrics are those of every other call. Where nobody is asked who he is, it may only read, and only on this machine.

mod about;
mod answer;
mod calls;
mod contract;
mod files;
mod frames;
mod gate;
mod refusal;
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

/// How many calls of one kind may be under way, ...
const CALLS: usize = 64;

/// ... and how many of them from one address, so that it cannot keep all others out.
const CALLS_OF_ONE_ADDRESS: usize = 32;

/// What carries out calls, as it does those that come over the network.
pub type Service = BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>;

/// A server, as the console uses it.
#[derive(Clone)]
pub struct Served {
    /// What carries out calls.
    pub service: Service,
    /// Who calls is looked at by this before a call takes anything.
    pub access: Access,
    /// Whether nobody is asked who he is.
    pub is_open: bool,
    /// Where clients reach the server, as host and port.
    pub endpoint: String,
    /// Whether they speak TLS with it.
    pub has_tls: bool,
    /// What people call it.
    pub label: String,
}

/// The console of one server.
#[derive(Clone)]
pub struct Console(Arc<Office>);

struct Office {
    contract: Contract,
    /// Where the admin port listens.
    admin: SocketAddr,
    served: OnceLock<Served>,
    /// Of plain calls.
    calls: Limiter,
    /// Of streams: one for each page that is open, as a rule.
    streams: Limiter,
}

impl Console {
    /// The console on an admin port that listens there. It refuses every call until there is a server.
    ///
    /// # Errors
    /// If the contract's description cannot be read.
    pub fn new(admin: SocketAddr) -> anyhow::Result<Self> {
        let limiter = || Limiter::new(CALLS, CALLS_OF_ONE_ADDRESS);
        let (calls, streams) = (limiter(), limiter());
        Ok(Self(Arc::new(Office { contract: Contract::read()?, admin, served: OnceLock::new(), calls, streams })))
    }

    /// From now on calls are carried out by this server.
    pub fn serve(&self, served: Served) {
        // The first one stays: a process has one server.
        let _ = self.0.served.set(served);
    }
}
