//! Connector for several hosts, one of which takes writes and is found by trying them. If the URL is kept in a file,
//! the file is read again for each connection, so that a new password takes effect without a restart.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::time::timeout;

use super::connection::{Connection, Connector, DriverError};
use super::options::{OpenError, StoreOptions, Target};

/// A host: its name and port, for display, and its connector.
pub(crate) type Host<C> = (String, C);

/// Creates a host from a URL with one host.
type MakeHost<C> = fn(&str, &StoreOptions) -> Result<Host<C>, OpenError>;

/// The current hosts.
struct Known<C> {
    hosts: Arc<Vec<Host<C>>>,
    /// The last content of the file, valid or not.
    text: String,
    /// Whether a failure to read the file has been logged already.
    unreadable: bool,
}

/// The hosts of a database.
pub(crate) struct Hosts<C> {
    options: StoreOptions,
    make_host: MakeHost<C>,
    known: Mutex<Known<C>>,
    /// Index of the host that was used last, which is tried first.
    last: AtomicUsize,
}

impl<C> Hosts<C> {
    /// Creates a connector to the hosts of the options' URL.
    pub(crate) fn new(options: &StoreOptions, make_host: MakeHost<C>) -> Result<Self, OpenError> {
        let hosts = Arc::new(hosts(options, make_host)?);
        let known = Mutex::new(Known { hosts, text: options.url.clone(), unreadable: false });
        Ok(Self { options: options.clone(), make_host, known, last: AtomicUsize::new(0) })
    }

    /// The hosts as of the last connection, and the index of the one that was used.
    pub(crate) fn last(&self) -> Option<(Arc<Vec<Host<C>>>, usize)> {
        let hosts = self.known().hosts.clone();
        let last = self.last.load(Ordering::SeqCst);
        (last < hosts.len()).then_some((hosts, last))
    }

    /// Reads the file again, if any. Invalid content is logged once and changes nothing.
    async fn refresh(&self) -> Arc<Vec<Host<C>>> {
        let Some(path) = &self.options.url_file else { return self.known().hosts.clone() };
        let read = tokio::fs::read_to_string(path).await;
        let file = path.display();
        let mut known = self.known();
        match read {
            Err(error) => {
                if !std::mem::replace(&mut known.unreadable, true) {
                    tracing::warn!(%file, %error, "cannot read store_url_file: keeping the previous URL");
                }
            }
            Ok(text) => {
                known.unreadable = false;
                let url = text.trim_end_matches(['\r', '\n']);
                if url != known.text {
                    known.text = url.to_owned();
                    match self.changed_hosts(url) {
                        Ok(hosts) => {
                            known.hosts = Arc::new(hosts);
                            self.last.store(0, Ordering::SeqCst);
                            tracing::info!(%file, "the store's URL has changed");
                        }
                        Err(error) => {
                            tracing::warn!(%file, %error, "store_url_file is invalid: keeping the previous URL");
                        }
                    }
                }
            }
        }
        known.hosts.clone()
    }

    /// The hosts of another URL.
    fn changed_hosts(&self, url: &str) -> Result<Vec<Host<C>>, OpenError> {
        let changed = StoreOptions { url: url.to_owned(), ..self.options.clone() };
        if changed.kind() != self.options.kind() {
            return Err(OpenError::Url("must be of the same kind of database as before"));
        }
        hosts(&changed, self.make_host)
    }

    fn known(&self) -> MutexGuard<'_, Known<C>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hosts<C>(options: &StoreOptions, make_host: MakeHost<C>) -> Result<Vec<Host<C>>, OpenError> {
    match options.target()? {
        Target::Sqlite(_) => Err(OpenError::Url("must name a host")),
        Target::Postgres(urls) | Target::MySql(urls) => urls.iter().map(|url| make_host(url, options)).collect(),
    }
}

#[async_trait]
impl<C: Connector> Connector for Hosts<C> {
    async fn connect(&self) -> Result<Box<dyn Connection>, DriverError> {
        let hosts = self.refresh().await;
        let (first, bound) = (self.last.load(Ordering::SeqCst), self.options.connect_timeout);
        let mut reasons = Vec::new();
        for offset in 0..hosts.len() {
            let index = (first + offset) % hosts.len();
            let (name, host) = &hosts[index];
            let late = |_| Err(DriverError::Rejected(format!("no connection within {bound:?}")));
            match timeout(bound, host.connect()).await.unwrap_or_else(late) {
                Ok(connection) => {
                    self.last.store(index, Ordering::SeqCst);
                    return Ok(connection);
                }
                Err(DriverError::Unsafe(reason)) => return Err(DriverError::Unsafe(format!("{name}: {reason}"))),
                Err(error) => reasons.push(format!("{name}: {}", error.reason())),
            }
        }
        Err(DriverError::Rejected(reasons.join("; ")))
    }
}
