//! The client.

use std::sync::Arc;

use tenure_proto::v1;
use tracing::Instrument;

use crate::connection::Connection;
use crate::declare::Target;
use crate::election::Election;
use crate::error::Result;
use crate::group::GroupRequest;
use crate::lock::LockRequest;
use crate::options::{ClientOptions, SessionOptions};
use crate::session::Session;
use crate::transport::{self, Connector, Tcp};
use crate::watch::Watch;

/// A client of the service, for one namespace. Clones share one connection.
///
/// It connects in the background, to one server at a time, and fails over to the next; sessions, their holds, and their
/// places in queues remain.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) connection: Connection,
}

impl Client {
    /// A client for these endpoints (URLs separated by commas) or options. Returns at once; calls wait for a
    /// connection, each until its deadline.
    ///
    /// # Errors
    /// `Invalid` if an endpoint is no URL, the namespace is invalid, a timeout is zero, a file of the options cannot be
    /// read, a token would be sent in plaintext, or outside a Tokio runtime.
    pub fn connect(options: impl Into<ClientOptions>) -> Result<Self> {
        let options = options.into();
        options.check()?;
        options.security.check(&options.urls()?)?;
        let tcp = Tcp { connect_timeout: options.connect_timeout, security: options.security.clone() };
        Self::connect_by(Arc::new(tcp), options)
    }

    /// As [`connect`](Self::connect), with connections of this connector: for tests.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    #[doc(hidden)]
    pub fn connect_by(connector: Arc<dyn Connector>, options: impl Into<ClientOptions>) -> Result<Self> {
        Ok(Self { connection: transport::start(options.into(), connector)? })
    }

    /// Options to [`connect`](ClientOptions::connect) with.
    pub fn builder() -> ClientOptions {
        ClientOptions::new()
    }

    /// The namespace of this client.
    pub fn namespace(&self) -> &str {
        &self.connection.namespace
    }

    /// Opens a session, which is then renewed in the background.
    ///
    /// # Errors
    /// `Refused` (a TTL out of bounds, ...), `Unavailable`.
    pub async fn session(&self, options: SessionOptions) -> Result<Session> {
        let span = tracing::info_span!("tenure.open_session", otel.kind = "client");
        Target { options, ..self.target() }.open().instrument(span).await
    }

    /// Requests a lock in a session of its own, which ends with the guard: see [`LockRequest`].
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        self.locks([name])
    }

    /// Requests several locks at once, all or nothing, with one token: 1 to 16 different names.
    pub fn locks(&self, names: impl IntoIterator<Item = impl Into<String>>) -> LockRequest {
        LockRequest::new(self.target(), names)
    }

    /// A candidacy in an election.
    pub fn election(&self, name: impl Into<String>) -> Election {
        Election::new(self.connection.clone(), name.into())
    }

    /// Requests a membership in a group, in a session of its own, which ends with the membership: see [`GroupRequest`].
    pub fn group(&self, name: impl Into<String>) -> GroupRequest {
        GroupRequest::new(self.target(), name.into())
    }

    /// Watches locks and groups: with neither names nor prefixes nor groups, all locks. If the watch is refused, the
    /// first item is the error.
    pub fn watch(&self, request: v1::WatchRequest) -> Watch {
        Watch::start(&self.connection, request)
    }

    /// Closes all sessions of this client and ends its connection, also for its clones. Await it before a program ends,
    /// so that its locks are free at once.
    ///
    /// # Errors
    /// `Unavailable` if no server answered in time; the sessions then end by their TTLs.
    pub async fn close(&self) -> Result<()> {
        self.connection.shut_down().await
    }

    fn target(&self) -> Target {
        Target::new(self.connection.clone(), None)
    }
}

impl ClientOptions {
    /// A client with these options. Same as [`Client::connect`].
    pub fn connect(self) -> Result<Client> {
        Client::connect(self)
    }
}
