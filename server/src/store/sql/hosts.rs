//! Connector for several hosts, one of which takes writes and is found by trying them. If the URL is kept in a file,
//! the file is read again for each connection, so that a new password takes effect without a restart.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::connection::{Connection, Connector, DriverError};
use super::options::OpenError;

/// A host: its name and port, for display, and its connector.
pub(crate) type Host<C> = (String, C);

/// Parses a URL into hosts.
type Parse<C> = dyn Fn(&str) -> Result<Vec<Host<C>>, OpenError> + Send + Sync;

/// The file that contains the URL.
pub(crate) struct UrlFile<C> {
    pub(crate) path: PathBuf,
    pub(crate) parse: Box<Parse<C>>,
}

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
    known: Mutex<Known<C>>,
    file: Option<UrlFile<C>>,
    /// Index of the host that was used last, which is tried first.
    last: AtomicUsize,
}

impl<C> Hosts<C> {
    /// Creates a connector to the hosts of this URL, which was read from `file`, if any.
    pub(crate) fn new(hosts: Vec<Host<C>>, url: &str, file: Option<UrlFile<C>>) -> Self {
        let known = Known { hosts: Arc::new(hosts), text: url.to_owned(), unreadable: false };
        Self { known: Mutex::new(known), file, last: AtomicUsize::new(0) }
    }

    /// The hosts as of the last connection, and the index of the one that was used.
    pub(crate) fn last(&self) -> Option<(Arc<Vec<Host<C>>>, usize)> {
        let hosts = self.known.lock().unwrap_or_else(PoisonError::into_inner).hosts.clone();
        let last = self.last.load(Ordering::SeqCst);
        (last < hosts.len()).then_some((hosts, last))
    }

    /// Reads the file again, if any. Invalid content is logged once and changes nothing.
    async fn refresh(&self) -> Arc<Vec<Host<C>>> {
        let read = match &self.file {
            Some(file) => Some((file, tokio::fs::read_to_string(&file.path).await)),
            None => None,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Some((file, Err(error))) if !std::mem::replace(&mut known.unreadable, true) => {
                let file = file.path.display();
                tracing::warn!(%file, %error, "cannot read store_url_file: keeping the previous URL");
            }
            None | Some((_, Err(_))) => {}
            Some((file, Ok(text))) => {
                known.unreadable = false;
                let url = text.trim_end_matches(['\r', '\n']);
                if url != known.text {
                    known.text = url.to_owned();
                    match (file.parse)(url) {
                        Ok(hosts) => {
                            known.hosts = Arc::new(hosts);
                            self.last.store(0, Ordering::SeqCst);
                            tracing::info!(file = %file.path.display(), "the store's URL has changed");
                        }
                        Err(error) => {
                            let file = file.path.display();
                            tracing::warn!(%file, %error, "store_url_file is invalid: keeping the previous URL");
                        }
                    }
                }
            }
        }
        known.hosts.clone()
    }
}

#[async_trait]
impl<C: Connector> Connector for Hosts<C> {
    async fn connect(&self) -> Result<Box<dyn Connection>, DriverError> {
        let hosts = self.refresh().await;
        let first = self.last.load(Ordering::SeqCst);
        let mut reasons = Vec::new();
        for offset in 0..hosts.len() {
            let index = (first + offset) % hosts.len();
            let (name, host) = &hosts[index];
            match host.connect().await {
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
