//! The guarantees of the harness: databases start, keep their data after a kill, freeze, and leave nothing behind.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tenure_harness::{Flavour, MariaDbPrograms, MySqlPrograms, MySqlServer, PgBouncer, Postgres, Served, wait_until};

use sqlx::{Connection, MySqlConnection, PgConnection};

/// Longer than any database needs to answer, and short enough to wait for a timeout.
const MOMENT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn postgres_keeps_its_data_after_a_kill() {
    let mut postgres = Postgres::start().await.unwrap();
    let url = postgres.create_database().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)").execute(&mut connection).await.unwrap();
    postgres.kill().await.unwrap();
    assert!(PgConnection::connect(&url).await.is_err());
    postgres.start_again().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let kept: i32 = sqlx::query_scalar("SELECT x FROM kept").fetch_one(&mut connection).await.unwrap();
    assert_eq!(kept, 7);
    postgres.stop().await.unwrap();
    postgres.start_again().await.unwrap();
}

#[tokio::test]
async fn postgres_freezes_and_keeps_its_connections() {
    let mut postgres = Postgres::start().await.unwrap();
    let mut connection = PgConnection::connect(&postgres.url("postgres")).await.unwrap();
    postgres.pause().await.unwrap();
    let mut answer = Box::pin(sqlx::raw_sql("SELECT 1").execute(&mut connection));
    assert!(tokio::time::timeout(MOMENT, &mut answer).await.is_err());
    postgres.resume().unwrap();
    answer.await.unwrap();
}

async fn keeps_its_data_after_a_kill<F: Flavour>() {
    let mut server = MySqlServer::<F>::start().await.unwrap();
    let url = server.create_database().await.unwrap();
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)").execute(&mut connection).await.unwrap();
    server.kill().await.unwrap();
    assert!(MySqlConnection::connect(&url).await.is_err());
    server.start_again().await.unwrap();
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    let kept: i32 = sqlx::query_scalar("SELECT x FROM kept").fetch_one(&mut connection).await.unwrap();
    assert_eq!(kept, 7);
}

#[tokio::test]
async fn mariadb_keeps_its_data_after_a_kill() {
    keeps_its_data_after_a_kill::<MariaDbPrograms>().await;
}

#[tokio::test]
async fn mysql_keeps_its_data_after_a_kill() {
    keeps_its_data_after_a_kill::<MySqlPrograms>().await;
}

#[tokio::test]
async fn pgbouncer_forwards_transactions() {
    let postgres = Postgres::shared().await.unwrap();
    let pgbouncer = PgBouncer::start(postgres).await.unwrap();
    let url = pgbouncer.create_database(postgres).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("SELECT 1").execute(&mut connection).await.unwrap();
}

/// Starts a PostgreSQL and waits to be killed, without any clean-up; the next test checks the consequences.
#[tokio::test]
#[ignore = "run by killed_test_leaves_no_process_and_no_folder"]
async fn killed_test() {
    let postgres = Postgres::start().await.unwrap();
    let folder = sqlx::query_scalar::<_, String>("SHOW data_directory")
        .fetch_one(&mut PgConnection::connect(&postgres.url("postgres")).await.unwrap())
        .await
        .unwrap();
    let report = std::env::var("KILLED_TEST_REPORT").unwrap();
    std::fs::write(format!("{report}.new"), format!("{folder}\n{}", postgres.port())).unwrap();
    std::fs::rename(format!("{report}.new"), report).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn killed_test_leaves_no_process_and_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_test", "--ignored"])
        .env("KILLED_TEST_REPORT", &report)
        .spawn()
        .unwrap();
    wait_until(Duration::from_secs(60), "the test has started", async || report.exists()).await;
    test.kill().unwrap();
    test.wait().unwrap();
    let report = std::fs::read_to_string(&report).unwrap();
    let (data, port) = report.split_once('\n').unwrap();
    let port: u16 = port.parse().unwrap();
    wait_until(Duration::from_secs(30), "database and folder are gone", async || {
        !Path::new(data).exists() && tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err()
    })
    .await;
}

/// Starts a process in a session of its own, as Patroni starts PostgreSQL.
const DETACHED: &str =
    "setsid sh -c 'echo $$ > \"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep 1000' \"$0\" & exec sleep 1000";

async fn parent_of_detached(note: &Path) -> (Served, String) {
    let command = |_: &Path, _| {
        let mut command = Command::new("sh");
        command.args(["-c", DETACHED]).arg(note);
        Ok(command)
    };
    let served = Served::start("a parent", command, async |_| note.exists()).await.expect("a parent");
    let detached = std::fs::read_to_string(note).expect("a note").trim().to_owned();
    (served, format!("/proc/{detached}/cwd"))
}

#[tokio::test]
async fn detached_process_is_killed_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let (mut served, detached) = parent_of_detached(&folder.path().join("note")).await;
    assert!(std::fs::read_link(&detached).is_ok());
    served.kill().await.unwrap();
    assert!(std::fs::read_link(&detached).is_err());
}

#[tokio::test]
async fn detached_process_ends_with_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (served, detached) = parent_of_detached(&folder.path().join("note")).await;
    assert!(std::fs::read_link(&detached).is_ok());
    drop(served);
    assert!(std::fs::read_link(&detached).is_err());
}
