//! Notifications to systemd from a server that makes progress, and from one that hangs.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use tenure_server::auth::CredentialOptions;
use tenure_server::node::readiness::Readiness;
use tenure_server::process::systemd::SystemdNotifier;
use tenure_server::process::watchdog;
use tenure_server::transport::ConnectionLimits;
use tokio::runtime::{Builder, Runtime};

use crate::serving::{start, within};

/// The watchdog's interval.
const WATCHDOG: Duration = Duration::from_millis(500);

/// Timeout for a notification: a longer silence counts as no notification.
const SILENCE: Duration = Duration::from_secs(3);

/// The socket of the supervisor, systemd.
struct NotifySocket {
    folder: tempfile::TempDir,
    datagrams: UnixDatagram,
}

impl NotifySocket {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let datagrams = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        datagrams.set_read_timeout(Some(SILENCE)).unwrap();
        Self { folder, datagrams }
    }

    fn notifier(&self) -> SystemdNotifier {
        SystemdNotifier::at(&self.folder.path().join("notify"), Some(WATCHDOG)).unwrap()
    }

    /// The next notification, or `None` after [`SILENCE`].
    fn receive(&self) -> Option<String> {
        let mut message = [0; 1024];
        match self.datagrams.recv(&mut message) {
            Ok(length) => Some(String::from_utf8(message[..length].to_vec()).unwrap()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            // By a signal, such as that of a child's exit: a receive with a timeout is not restarted.
            Err(error) if error.kind() == ErrorKind::Interrupted => self.receive(),
            Err(error) => panic!("{error}"),
        }
    }

    /// Receives pending notifications, and asserts that no more follow.
    fn assert_no_more(&self) {
        // At most one notification was in flight when the server began to hang.
        let received: Vec<String> = std::iter::from_fn(|| self.receive()).take(3).collect();
        assert!(received.len() < 3, "still notified: {received:?}");
    }
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

#[test]
fn watchdog_is_notified_unless_the_runtime_hangs() {
    let socket = NotifySocket::open();
    let runtime = runtime(1);
    let server = runtime.block_on(start(CredentialOptions::default(), ConnectionLimits::default())).unwrap();
    let notifier = {
        let _inside = runtime.enter();
        socket.notifier()
    };
    runtime.spawn(notifier.run_watchdog(server.watchdog));
    for _ in 0..3 {
        assert_eq!(socket.receive().as_deref(), Some("WATCHDOG=1"));
    }
    let (go_on, hanging) = channel::<()>();
    runtime.spawn(async move {
        let _ = hanging.recv();
    });
    socket.assert_no_more();
    go_on.send(()).unwrap();
    assert_eq!(socket.receive().as_deref(), Some("WATCHDOG=1"));
}

#[test]
fn watchdog_is_not_notified_while_the_task_of_the_server_hangs() {
    let socket = NotifySocket::open();
    let runtime = runtime(2);
    let (hang, hangs) = tokio::sync::oneshot::channel::<()>();
    let (go_on, hanging) = channel::<()>();
    let (watchdog, work) = watchdog::watched(Box::pin(async move {
        hangs.await.unwrap();
        let _ = hanging.recv();
        std::future::pending().await
    }));
    runtime.spawn(work);
    let notifier = {
        let _inside = runtime.enter();
        socket.notifier()
    };
    runtime.spawn(notifier.run_watchdog(watchdog));
    assert_eq!(socket.receive().as_deref(), Some("WATCHDOG=1"));
    hang.send(()).unwrap();
    socket.assert_no_more();
    // The runtime makes progress.
    runtime.block_on(within(runtime.spawn(async {}))).unwrap();
    go_on.send(()).unwrap();
    assert_eq!(socket.receive().as_deref(), Some("WATCHDOG=1"));
}

#[tokio::test]
async fn status_is_one_line() {
    let socket = NotifySocket::open();
    let notifier = socket.notifier();
    notifier.status(&Readiness::Ready).await;
    assert_eq!(socket.receive().as_deref(), Some("STATUS=serving"));
    notifier.status(&Readiness::Store("no\nREADY=1\r".into())).await;
    assert_eq!(socket.receive().as_deref(), Some("STATUS=not ready: store: no READY=1 "));
}

#[tokio::test]
async fn notifications_that_are_not_read_fail_in_bounded_time() {
    let socket = NotifySocket::open();
    let notifier = socket.notifier();
    // More than a socket buffers, which is ten by default: the last notification waits, and fails after a bounded time.
    socket.datagrams.set_nonblocking(true).unwrap();
    for _ in 0..2 {
        let fill = async {
            for _ in 0..1_000_000 {
                let start = tokio::time::Instant::now();
                notifier.ready().await;
                if start.elapsed() > Duration::from_millis(500) {
                    return;
                }
            }
            panic!("the socket buffers everything");
        };
        within(fill).await;
    }
}

#[tokio::test]
async fn missing_or_relative_socket_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(SystemdNotifier::at(&folder.path().join("notify"), None).is_err());
    let refusal = SystemdNotifier::at(Path::new("notify"), None).unwrap_err().to_string();
    assert!(refusal.contains("absolute path"), "{refusal}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn socket_may_have_an_abstract_name() {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("tenure-supervisor-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    SystemdNotifier::at(Path::new(&format!("@{name}")), None).unwrap().ready().await;
    let mut message = [0; 16];
    let length = socket.recv(&mut message).unwrap();
    assert_eq!(&message[..length], b"READY=1");
}
