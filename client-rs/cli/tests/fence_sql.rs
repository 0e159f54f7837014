//! Pipes the output of `tenure fence-sql` into the databases' own clients, as its help describes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tenure_harness::{Client, Flavour, MariaDbPrograms, MySqlPrograms, MySqlServer, Postgres};

/// Returns the SQL for a dialect.
fn fence_sql(dialect: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tenure")).args(["fence-sql", dialect]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a client with `input` on standard input, and returns its output.
fn client(line: &[&str], input: &str) -> Output {
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", line[0]));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Installs the SQL twice, then makes calls of which only the last is rejected. Returns the client's error output.
fn install_and_call(line: &[&str], dialect: &str, call: impl Fn(u32) -> String) -> String {
    for _ in 0..2 {
        let installed = client(line, &fence_sql(dialect));
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    }
    let calls: Vec<String> = [33, 33, 34].map(&call).into();
    let accepted = client(line, &calls.join("\n"));
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    // Statements after the rejected one are not executed.
    let rejected = client(line, &format!("{}\n{}", call(33), call(35)));
    assert!(!rejected.status.success());
    let again = client(line, &call(34));
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    String::from_utf8(rejected.stderr).unwrap()
}

#[tokio::test]
async fn psql_runs_the_fence_script() {
    let url = Postgres::shared().await.unwrap().create_database().await.unwrap();
    let line = ["psql", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", &url];
    let stderr = install_and_call(&line, "postgres", |token| format!("SELECT tenure_fence('job', {token});"));
    assert!(stderr.contains("TF001: stale fencing token 33: 34 is the highest seen for job"), "{stderr}");
}

/// The client of a server takes the script from standard input.
async fn own_client_runs_the_fence_script<F: Flavour>() {
    let server = MySqlServer::<F>::shared().await.unwrap();
    let url = server.create_database().await.unwrap();
    let (port, name) = (format!("--port={}", server.port()), url.rsplit('/').next().unwrap());
    let client_program = F::client(Client::Statements).unwrap();
    let program: Vec<String> = std::iter::once(client_program.get_program())
        .chain(client_program.get_args())
        .map(|word| word.to_str().unwrap().to_owned())
        .collect();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let line = [&program[..], &["--host=127.0.0.1", &port, "--user=root", name]].concat();
    for dialect in ["mysql", "mariadb"] {
        let reset = client(&line, "DROP TABLE IF EXISTS tenure_fences;");
        assert!(reset.status.success());
        let stderr = install_and_call(&line, dialect, |token| format!("CALL tenure_fence('job', {token});"));
        assert!(stderr.contains("ERROR 7420 (45000)"), "{stderr}");
        assert!(stderr.contains("stale fencing token 33: 34 is the highest seen for job"), "{stderr}");
    }
    // The client ends statements at ';' again, whether it sends comments to the server or not.
    for comments in ["--comments", "--skip-comments"] {
        let more = fence_sql("mysql") + "SELECT 'one'; SELECT 'two';";
        let output = client(&[&line[..], &[comments]].concat(), &more);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows = String::from_utf8(output.stdout).unwrap();
        assert_eq!(rows.lines().collect::<Vec<_>>(), ["one", "one", "two", "two"], "{comments}");
    }
}

#[tokio::test]
async fn mariadb_runs_the_fence_script() {
    own_client_runs_the_fence_script::<MariaDbPrograms>().await;
}

#[tokio::test]
async fn mysql_runs_the_fence_script() {
    own_client_runs_the_fence_script::<MySqlPrograms>().await;
}

#[tokio::test]
async fn sqlite3_runs_the_fence_script() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.db").display().to_string();
    let call = |token| format!("INSERT INTO tenure_fence (name, token) VALUES ('job', {token});");
    let stderr = install_and_call(&["sqlite3", "-bail", &file], "sqlite", call);
    assert!(stderr.contains("stale fencing token"), "{stderr}");
}
