//! Tests that no token is granted twice after a restore from an older backup.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use tenure_e2e::Calls;
use tenure_harness::{
    Client, Flavour, MariaDbPrograms, MySqlPrograms, MySqlServer, Postgres, Tenured, TenuredOptions, built, find,
};
use tenure_proto::v1::AcquireRequest;
use tokio::task::spawn_blocking;

const TTL: Duration = Duration::from_secs(2);

/// The number of acquisitions between the backup and its restore.
const AFTER: usize = 5;

/// Runs a program to its end.
async fn run(mut command: Command) -> Output {
    spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Runs a shell command with this environment, and returns its output.
async fn shell(line: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", line]).envs(environment.iter().copied());
    let output = run(command).await;
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a task of `tenured` on a store. Returns its output, or its error message.
async fn tenured(store: &str, task: &[&str]) -> Result<String, String> {
    let mut command = Command::new(built("tenured").unwrap());
    command.args(["--store-url", store]).args(task);
    let output = run(command).await;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(String::from_utf8(output.stderr).unwrap())
}

/// A namespace created after the backup.
const NEW: &str = "new";

/// A server, and the highest tokens that it has granted: in the default namespace, and in the new one.
struct GrantingServer {
    process: Tenured,
    highest: u64,
    highest_of_new: u64,
}

impl GrantingServer {
    async fn start(store: &str) -> Self {
        let process = Tenured::start(&TenuredOptions::store(store)).await.unwrap();
        let mut server = Self { process, highest: 0, highest_of_new: 0 };
        server.grant("before").await;
        server
    }

    /// Acquires a lock that was never held.
    async fn grant(&mut self, name: &str) {
        let calls = Calls::connect(&self.process.url()).await.unwrap();
        let token = calls.try_lock(name, &format!("session of {name}"), TTL).await.unwrap().claim.unwrap().token;
        assert!(token > self.highest, "{token} after {}", self.highest);
        self.highest = token;
    }

    async fn grant_in_new_namespace(&mut self, name: &str) {
        let calls = Calls::connect(&self.process.url()).await.unwrap();
        let request = AcquireRequest {
            namespace: NEW.to_owned(),
            ..calls.acquire_request(name, &format!("session of {name}"), TTL)
        };
        let token = calls.acquire(request).await.unwrap().claim.unwrap().token;
        assert!(token > self.highest_of_new, "{token} after {}", self.highest_of_new);
        self.highest_of_new = token;
    }

    /// Makes changes that the backup does not contain.
    async fn make_changes(&mut self) {
        for number in 0..AFTER {
            self.grant(&format!("after-{number}")).await;
            self.grant_in_new_namespace(&format!("after-{number}")).await;
        }
    }

    /// Starts on the restored database.
    async fn start_again(&mut self) {
        self.process.start_again().await.unwrap();
        self.grant("restored").await;
        self.grant("restored again").await;
        self.grant_in_new_namespace("restored").await;
        // The revision jumps once, not at each start.
        let before = self.highest;
        self.process.stop().await.unwrap();
        self.process.start_again().await.unwrap();
        self.grant("later").await;
        assert!(self.highest - before < 100, "from {before} to {}", self.highest);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_postgres_dump_repeats_no_token() {
    let postgres = Postgres::start().await.unwrap();
    let store = postgres.create_database().await.unwrap();
    let [dump, restore] =
        ["pg_dump", "pg_restore"].map(|name| find(name, "postgresql-client").unwrap().display().to_string());
    let folder = tempdir().unwrap();
    let file = folder.path().join("tenure.dump").display().to_string();
    let environment = [("DUMP", dump.as_str()), ("RESTORE", &restore), ("STORE", &store), ("FILE", &file)];
    let mut server = GrantingServer::start(&store).await;
    shell(r#""$DUMP" --format=custom --file="$FILE" "$STORE""#, &environment).await;
    server.make_changes().await;
    server.process.stop().await.unwrap();
    let name = store.rsplit('/').next().unwrap();
    postgres.execute(&format!("DROP DATABASE {name}")).await.unwrap();
    postgres.execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    shell(r#""$RESTORE" --exit-on-error --dbname="$STORE" "$FILE""#, &environment).await;
    server.start_again().await;
}

async fn restored_dump_repeats_no_token<F: Flavour>() {
    let database = MySqlServer::<F>::start().await.unwrap();
    let store = database.create_database().await.unwrap();
    let folder = tempdir().unwrap();
    let file = folder.path().join("dump.sql").display().to_string();
    let (port, name) = (format!("--port={}", database.port()), store.rsplit('/').next().unwrap());
    let client = async |client: Client, arguments: &[&str], input: Stdio| {
        let mut command = F::client(client).unwrap();
        command.args(["--protocol=tcp", "--host=127.0.0.1", &port, "--user=root"]).args(arguments).stdin(input);
        let output = run(command).await;
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let mut server = GrantingServer::start(&store).await;
    // The creation time of a table has a resolution of one second.
    let now = client(Client::Statements, &["-Ne", "SELECT UNIX_TIMESTAMP()"], Stdio::null()).await;
    client(Client::Dump, &["--single-transaction", &format!("--result-file={file}"), name], Stdio::null()).await;
    server.make_changes().await;
    server.process.stop().await.unwrap();
    let next = format!("SELECT SLEEP(GREATEST(0, {} + 1.1 - UNIX_TIMESTAMP(NOW(6))))", now.trim());
    client(Client::Statements, &["-Ne", &next], Stdio::null()).await;
    client(Client::Statements, &[name], File::open(&file).unwrap().into()).await;
    server.start_again().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_mariadb_dump_repeats_no_token() {
    restored_dump_repeats_no_token::<MariaDbPrograms>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_mysql_dump_repeats_no_token() {
    restored_dump_repeats_no_token::<MySqlPrograms>().await;
}

/// A SQLite file in a folder of its own.
fn file() -> (TempDir, PathBuf, String) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    let store = format!("sqlite:{}", path.display());
    (folder, path, store)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn online_backup_repeats_no_token_wherever_it_is_served() {
    let (folder, _, store) = file();
    let copy = folder.path().join("copy.db");
    let mut server = GrantingServer::start(&store).await;
    tenured(&store, &["backup", text(&copy)]).await.unwrap();
    server.make_changes().await;
    let error = tenured(&store, &["restore", text(&copy)]).await.unwrap_err();
    assert!(error.contains("in use by another process"), "{error}");
    server.process.stop().await.unwrap();
    let output = tenured(&store, &["restore", text(&copy)]).await.unwrap();
    assert!(output.contains("tenure.db.replaced-1"), "{output}");
    server.start_again().await;

    let error = tenured(&store, &["backup", text(&copy)]).await.unwrap_err();
    assert!(error.contains("already exists"), "{error}");
    let mut other = GrantingServer::start(&format!("sqlite:{}", copy.display())).await;
    // The session in the backup may still hold its lock, with the token of that time.
    other.grant("other").await;
    assert!(other.highest > server.highest, "{} after {}", other.highest, server.highest);
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_file_copied_by_hand_repeats_no_token() {
    let (folder, path, store) = file();
    let copy = folder.path().join("by-hand.db");
    let mut server = GrantingServer::start(&store).await;
    server.process.stop().await.unwrap();
    for companion in ["", "-wal"] {
        let [from, to] = [&path, &copy].map(|file| format!("{}{companion}", file.display()));
        if Path::new(&from).exists() {
            std::fs::copy(from, to).unwrap();
        }
    }
    server.process.start_again().await.unwrap();
    server.make_changes().await;
    server.process.stop().await.unwrap();
    tenured(&store, &["restore", text(&copy)]).await.unwrap();
    server.start_again().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_backup_replaces_nothing() {
    let (folder, _, store) = file();
    let broken = folder.path().join("broken.db");
    std::fs::write(&broken, "not a database").unwrap();
    let mut server = GrantingServer::start(&store).await;
    server.process.stop().await.unwrap();
    let error = tenured(&store, &["restore", text(&broken)]).await.unwrap_err();
    assert!(error.contains("invalid database") && error.contains("broken.db"), "{error}");
    let error = tenured(&store, &["restore", text(&folder.path().join("none.db"))]).await.unwrap_err();
    assert!(error.contains("invalid database") && error.contains("none.db"), "{error}");
    server.process.start_again().await.unwrap();
    server.grant("as before").await;
    assert!(server.highest < 100, "the revision jumped to {}", server.highest);
}

/// A snapshot of a disk cannot be detected: the database is the same, and so are its tables.
#[tokio::test(flavor = "multi_thread")]
async fn disk_snapshot_marked_as_restored_repeats_no_token() {
    let mut postgres = Postgres::start().await.unwrap();
    let store = postgres.create_database().await.unwrap();
    let (data, snapshot) = (postgres.data_folder(), postgres.data_folder().with_extension("snapshot"));
    let environment = [("DATA", text(&data)), ("SNAPSHOT", text(&snapshot))];
    let mut server = GrantingServer::start(&store).await;
    server.process.stop().await.unwrap();
    postgres.stop().await.unwrap();
    shell(r#"cp -a "$DATA" "$SNAPSHOT""#, &environment).await;
    postgres.start_again().await.unwrap();
    server.process.start_again().await.unwrap();
    server.make_changes().await;
    server.process.stop().await.unwrap();
    postgres.stop().await.unwrap();
    shell(r#"rm -r "$DATA"; mv "$SNAPSHOT" "$DATA""#, &environment).await;
    postgres.start_again().await.unwrap();
    let output = tenured(&store, &["mark-restored"]).await.unwrap();
    assert!(output.contains("1 namespaces"), "{output}");
    server.start_again().await;
}
