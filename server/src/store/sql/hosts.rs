//! Connector for several hosts, one of which takes writes and is found by trying them, each a little later than the one
//! before: a host that was cut off does not answer, and is not waited for. If the URL is kept in a file, the file is read
//! again for each connection, so that a new password takes effect without a restart.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::timeout;

use super::connection::{Connection, Connector, DriverError};
use super::options::{OpenError, StoreOptions, Target};

/// A host that has neither connected nor failed by then is no longer waited for alone (RFC 8305, section 5). MySQL no
/// longer accepts connections from a host that has broken off 100 in a row, so that connections which are merely far away
/// should be made within it.
const NEXT_AFTER: Duration = Duration::from_millis(500);

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
        let attempt = async |index: usize| {
            let late = |_| Err(DriverError::Rejected(format!("no connection within {bound:?}")));
            (index, timeout(bound, hosts[index].1.connect()).await.unwrap_or_else(late))
        };
        let mut untried = (0..hosts.len()).map(|offset| (first + offset) % hosts.len());
        let (mut attempts, mut reasons) = (FuturesUnordered::new(), Vec::new());
        loop {
            attempts.extend(untried.next().map(attempt));
            let patience = if untried.len() == 0 { Duration::MAX } else { NEXT_AFTER };
            match timeout(patience, attempts.next()).await {
                Ok(Some((index, Ok(connection)))) => {
                    self.last.store(index, Ordering::SeqCst);
                    return Ok(connection);
                }
                Ok(Some((index, Err(DriverError::Unsafe(reason))))) => {
                    return Err(DriverError::Unsafe(format!("{}: {reason}", hosts[index].0)));
                }
                Ok(Some((index, Err(error)))) => reasons.push(format!("{}: {}", hosts[index].0, error.reason())),
                Ok(None) => return Err(DriverError::Rejected(reasons.join("; "))),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    const BOUND: Duration = Duration::from_secs(2);

    #[derive(Clone, Copy)]
    enum Fake {
        Silent,
        Standby,
        Unsafe,
    }

    #[async_trait]
    impl Connector for Fake {
        async fn connect(&self) -> Result<Box<dyn Connection>, DriverError> {
            match self {
                Self::Silent => pending().await,
                Self::Standby => Err(DriverError::Rejected("it is a standby".to_owned())),
                Self::Unsafe => Err(DriverError::Unsafe("it does not flush".to_owned())),
            }
        }
    }

    /// Connects to such hosts, and returns the error with the time that it took.
    async fn connect(hosts: &[Fake]) -> (DriverError, Duration) {
        let mut options = StoreOptions::new("mysql://tenure@host/tenure");
        options.connect_timeout = BOUND;
        let hosts = hosts.iter().zip('a'..).map(|(host, name)| (name.to_string(), *host)).collect();
        let known = Known { hosts: Arc::new(hosts), text: options.url.clone(), unreadable: false };
        let make_host: MakeHost<Fake> = |_, _| Err(OpenError::Url("unused"));
        let hosts = Hosts { options, make_host, known: Mutex::new(known), last: AtomicUsize::new(0) };
        let begun = Instant::now();
        let Err(error) = hosts.connect().await else { panic!("no host connects") };
        (error, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn silent_host_delays_the_others_briefly() {
        let (error, took) = connect(&[Fake::Silent, Fake::Silent, Fake::Unsafe]).await;
        assert_eq!((error, took), (DriverError::Unsafe("c: it does not flush".to_owned()), 2 * NEXT_AFTER));
    }

    #[tokio::test(start_paused = true)]
    async fn host_that_refuses_does_not_delay_the_others() {
        let (error, took) = connect(&[Fake::Standby, Fake::Standby, Fake::Unsafe]).await;
        assert_eq!((error, took), (DriverError::Unsafe("c: it does not flush".to_owned()), Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn every_host_has_its_time_and_its_reason() {
        let (error, took) = connect(&[Fake::Silent, Fake::Standby, Fake::Silent]).await;
        let reasons = "b: it is a standby; a: no connection within 2s; c: no connection within 2s";
        assert_eq!((error, took), (DriverError::Rejected(reasons.to_owned()), NEXT_AFTER + BOUND));
    }
}
