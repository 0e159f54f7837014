//! Tests of how a server starts, refuses to start, and stops.

use std::process::Output;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tenure_e2e::{Calls, Store};
use tenure_harness::{MariaDb, PgBouncer, Postgres, Tenured, TenuredOptions, built, wait_until};
use tokio::process::Command;

const TTL: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `tenured` to its end, which must come: a server that starts serving is killed.
async fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(built("tenured").unwrap());
    command.args(arguments).kill_on_drop(true);
    tokio::time::timeout(PATIENCE, command.output()).await.expect("tenured does not end").unwrap()
}

/// The output of `tenured` when it refuses to serve from this database.
async fn refusal(url: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let ports = ["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"];
    let output = run(&["--data-dir", &data, "--store-url", url, ports[0], ports[1]]).await;
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn database_without_durable_commits_is_rejected_unless_allowed() {
    let postgres = Postgres::start_with(&["synchronous_commit=off"]).await.unwrap();
    let url = postgres.create_database().await.unwrap();
    let output = refusal(&url).await;
    assert!(output.contains("synchronous_commit"), "{output}");
    let allowed = TenuredOptions::store(url).argument("--store-allow-unsafe-durability");
    Tenured::start(&allowed).await.unwrap();

    let mariadb = MariaDb::start_with(&["--innodb-flush-log-at-trx-commit=2"]).await.unwrap();
    let output = refusal(&mariadb.create_database().await.unwrap()).await;
    assert!(output.contains("innodb_flush_log_at_trx_commit"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_file_is_exclusive_to_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/shared.db", folder.path().display());
    let mut first = Tenured::start(&TenuredOptions::store(&url)).await.unwrap();
    let output = refusal(&url).await;
    assert!(output.contains("in use by another process"), "{output}");
    // Accepted once the first server has gone, however it ended.
    first.kill().await.unwrap();
    Tenured::start(&TenuredOptions::store(&url)).await.unwrap();
}

/// Scripts that rotate logs and certificates send SIGHUP to any process.
#[tokio::test(flavor = "multi_thread")]
async fn server_survives_signals_other_than_stop() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "").unwrap();
    let options = TenuredOptions::default().argument("--tokens-file").argument(tokens.display().to_string());
    let mut server = Tenured::start(&options).await.unwrap();
    let process = i32::try_from(server.process_id().unwrap()).ok().and_then(Pid::from_raw).unwrap();
    let logged = async |line: &str| std::fs::read_to_string(server.log_file()).is_ok_and(|log| log.contains(line));
    for (signal, line) in [
        (Signal::HUP, "reloading certificates, tokens, keys and policy on request"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
    ] {
        kill_process(process, signal).unwrap();
        wait_until(PATIENCE, line, async || logged(line).await).await;
        assert_eq!(server.status("/readyz").await, Some(200), "after {signal:?}");
    }
    kill_process(process, Signal::QUIT).unwrap();
    wait_until(PATIENCE, "the server stops", async || logged("draining").await && logged("stopped").await).await;
    server.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn server_and_database_start_in_any_order() {
    let mut postgres = Postgres::start().await.unwrap();
    let url = postgres.create_database().await.unwrap();
    postgres.stop().await.unwrap();
    let mut server = Tenured::prepare(&TenuredOptions::store(url)).unwrap();
    server.start_unready().await.unwrap();
    assert_eq!((server.status("/livez").await, server.status("/readyz").await), (Some(200), Some(503)));
    postgres.start_again().await.unwrap();
    wait_until(PATIENCE, "the server is ready", async || server.status("/readyz").await == Some(200)).await;
    let calls = Calls::connect(&server.url()).await.unwrap();
    assert!(calls.try_lock("a", "b", TTL).await.unwrap().acquired);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn server_works_through_a_pooler_in_transaction_mode() {
    let postgres = Postgres::shared().await.unwrap();
    let pgbouncer = PgBouncer::start(postgres).await.unwrap();
    let options = TenuredOptions::store(pgbouncer.create_database(postgres).await.unwrap());
    let mut servers = [Tenured::start(&options).await.unwrap(), Tenured::start(&options).await.unwrap()];
    let [one, two] = [0, 1].map(|number: usize| servers[number].url());
    let (one, two) = (Calls::connect(&one).await.unwrap(), Calls::connect(&two).await.unwrap());
    let held = one.try_lock("a", "first", TTL).await.unwrap();
    assert!(!two.try_lock("a", "second", TTL).await.unwrap().acquired);
    let waiting = two.clone();
    let waiter =
        tokio::spawn(async move { waiting.acquire(waiting.acquire_request("a", "second", TTL)).await.unwrap() });
    wait_until(PATIENCE, "the other server sees the waiter", async || one.lock("a").await.unwrap().waiter_count == 1)
        .await;
    one.release("a", "first", held.token).await.unwrap();
    assert!(waiter.await.unwrap().token > held.token);
    for server in &mut servers {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_can_be_run_by_hand() {
    for store in [Store::Sqlite, Store::Postgres, Store::MariaDb, Store::MySql] {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("sqlite:{}/by-hand.db", folder.path().display());
        let url = store.fresh().await.unwrap().store_url.unwrap_or(file);
        let data = folder.path().display().to_string();
        let tenured = async |arguments: &[&str]| {
            let (listen, admin_listen) = ("--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0");
            let all = [&["--data-dir", &data, "--store-url", &url, listen, admin_listen], arguments].concat();
            let output = run(&all).await;
            let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            (output.status.success(), text.into_owned())
        };
        let (succeeded, output) = tenured(&["--store-migrate=false"]).await;
        assert!(!succeeded && output.contains("0001_initial"), "{output}");
        let (succeeded, output) = tenured(&["migrate", "--check"]).await;
        assert!(!succeeded && output.contains("0001_initial"), "{output}");
        let (succeeded, output) = tenured(&["migrate"]).await;
        assert!(succeeded, "{output}");
        let (succeeded, output) = tenured(&["migrate", "--check"]).await;
        assert!(succeeded, "{output}");
        Tenured::start(&TenuredOptions::store(&url).argument("--store-migrate=false")).await.unwrap();
    }
}
