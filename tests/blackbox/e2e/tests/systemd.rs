//! Tests of the notifications that systemd receives from a server: a real process, and a socket in systemd's place.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use tenure_harness::{Postgres, Tenured, TenuredOptions};

/// The watchdog's interval.
const WATCHDOG: Duration = Duration::from_secs(1);

/// The read timeout of the socket: a longer silence counts as none sent.
const SILENCE: Duration = Duration::from_secs(5);

/// systemd's end of the socket.
struct NotifySocket {
    folder: tempfile::TempDir,
    socket: UnixDatagram,
}

impl NotifySocket {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(SILENCE)).unwrap();
        Self { folder, socket }
    }

    fn options(&self, store: TenuredOptions) -> TenuredOptions {
        let socket = self.folder.path().join("notify").display().to_string();
        let environment =
            vec![("NOTIFY_SOCKET".into(), socket), ("WATCHDOG_USEC".into(), WATCHDOG.as_micros().to_string())];
        TenuredOptions { environment, ..store }
    }

    /// The next notification; `None` after [`SILENCE`].
    fn receive(&self) -> Option<String> {
        let mut buffer = [0; 4096];
        match self.socket.recv(&mut buffer) {
            Ok(length) => Some(String::from_utf8(buffer[..length].to_vec()).unwrap()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            // By a signal, such as that of a child's exit: a receive with a timeout is not restarted.
            Err(error) if error.kind() == ErrorKind::Interrupted => self.receive(),
            Err(error) => panic!("{error}"),
        }
    }

    /// All notifications up to one that begins with `wanted`, which must arrive.
    fn receive_until(&self, wanted: &str) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let next = self.receive().unwrap_or_else(|| panic!("{wanted} was not sent, but {all:?}"));
            all.push(next.clone());
            if next.starts_with(wanted) {
                return all;
            }
            assert!(all.len() < 100, "{wanted} was not sent, but {all:?}");
        }
    }

    /// Drains what a process sent before it was paused: at most a socket buffer, and then nothing.
    fn drain(&self) {
        let sent: Vec<String> = std::iter::from_fn(|| self.receive()).take(100).collect();
        assert!(sent.len() < 100, "the process is not paused: {sent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn systemd_is_notified_of_start_watchdog_and_stop() {
    let socket = NotifySocket::open();
    let mut server = Tenured::start(&socket.options(TenuredOptions::default())).await.unwrap();
    assert_eq!(socket.receive().as_deref(), Some("READY=1"));
    socket.receive_until("STATUS=serving");
    for _ in 0..3 {
        socket.receive_until("WATCHDOG=1");
    }
    server.pause().await.unwrap();
    socket.drain();
    assert!(server.is_running());
    server.resume().unwrap();
    socket.receive_until("WATCHDOG=1");
    server.stop().await.unwrap();
    let stopping = socket.receive_until("STOPPING=1").pop().unwrap();
    // 10 s to drain, the default, and a margin.
    assert_eq!(stopping, "STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000");
    socket.receive_until("STATUS=not ready: draining");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_its_database_notifies_why_it_is_not_ready() {
    let mut postgres = Postgres::start().await.unwrap();
    let url = postgres.create_database().await.unwrap();
    postgres.stop().await.unwrap();
    let socket = NotifySocket::open();
    let mut server = Tenured::prepare(&socket.options(TenuredOptions::store(url))).unwrap();
    server.start_unready().await.unwrap();
    assert_eq!(socket.receive().as_deref(), Some("READY=1"));
    let status = socket.receive_until("STATUS=not ready: store: ").pop().unwrap();
    assert_eq!(status.lines().count(), 1, "{status}");
    let shown = format!("{status} {:?}", server.readiness().await);
    assert!(
        !shown.contains("127.0.0.1") && shown.contains("see the server's log"),
        "the status must not show an address: {shown}"
    );
    // Waiting for the database does not count as hanging.
    for _ in 0..3 {
        socket.receive_until("WATCHDOG=1");
    }
    postgres.start_again().await.unwrap();
    socket.receive_until("STATUS=serving");
    assert_eq!(server.status("/readyz").await, Some(200));
    server.stop().await.unwrap();
}
