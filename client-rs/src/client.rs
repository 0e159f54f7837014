//! The client.

use std::sync::Arc;

use crate::connection::Connection;
use crate::election::Election;
use crate::error::Result;
use crate::group::GroupRequest;
use crate::lock::LockRequest;
use crate::options::{ClientOptions, SessionOptions, WatchOptions};
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
    #[must_use]
    pub fn builder() -> ClientOptions {
        ClientOptions::new()
    }

    /// The namespace of this client.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.connection.namespace()
    }

    /// Opens a session, which is then renewed in the background.
    ///
    /// # Errors
    /// `Refused` (a TTL out of bounds, ...), `Unavailable`.
    pub async fn session(&self, options: SessionOptions) -> Result<Session> {
        Session::open(&self.connection, &options).await
    }

    /// Requests a lock in a session of its own, which ends with the guard: see [`LockRequest`].
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        self.locks([name])
    }

    /// Requests several locks at once, all or nothing, with one token: 1 to 16 different names.
    pub fn locks(&self, names: impl IntoIterator<Item = impl Into<String>>) -> LockRequest {
        LockRequest::new(self.connection.clone(), None, names.into_iter().map(Into::into).collect())
    }

    /// A candidacy in an election.
    #[must_use]
    pub fn election(&self, name: impl Into<String>) -> Election {
        Election::new(self.connection.clone(), name.into())
    }

    /// Requests a membership in a group, in a session of its own, which ends with the membership: see [`GroupRequest`].
    pub fn group(&self, name: impl Into<String>) -> GroupRequest {
        GroupRequest::new(self.connection.clone(), name.into())
    }

    /// Watches locks and groups. If the watch is refused, the first item is the error.
    #[must_use]
    pub fn watch(&self, options: WatchOptions) -> Watch {
        Watch::start(&self.connection, options)
    }

    /// Closes all sessions of this client and ends its connection, also for its clones. Await it before a program ends,
    /// so that its locks are free at once.
    ///
    /// # Errors
    /// `Unavailable` if no server answered in time; the sessions then end by their TTLs.
    pub async fn close(&self) -> Result<()> {
        self.connection.shut_down().await
    }
}

impl ClientOptions {
    /// A client with these options. Same as [`Client::connect`].
    pub fn connect(self) -> Result<Client> {
        Client::connect(self)
    }
}
