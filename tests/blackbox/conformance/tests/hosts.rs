//! Which database a store connects to: by the hosts and the name in its URL, and by the file that has the URL.

use std::time::Duration;

use tenure_core::{Revision, ServerId};
use tenure_harness::{Flavour, MySql, MySqlServer, Postgres, on_mariadb_and_mysql, wait_until};
use tenure_server::store::{FIRST_HEARTBEAT, ServerRecord, StoreError, StoreOptions, migrate, open};

use crate::opening::{batch, error, postgres};
use crate::proxy::QueryProxy;

/// Longer than any operation in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

on_mariadb_and_mysql!(changed_url_file_is_read_again);

/// The store finds the writable one of several hosts: at the start, and when the roles change.
#[tokio::test]
async fn writable_host_is_found() {
    let (one, two) = (Postgres::start().await.expect("it starts"), Postgres::start().await.expect("it starts"));
    for host in [&one, &two] {
        host.execute("CREATE DATABASE tenure").await.expect("it is created");
        migrate(&StoreOptions::new(host.url("tenure"))).await.expect("the tables are created");
    }
    let read_only = async |host: &Postgres, setting: &str| {
        let sql = format!("ALTER DATABASE tenure SET default_transaction_read_only = {setting}");
        host.execute(&sql).await.expect("it is set");
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tenure'";
        host.execute(sql).await.expect("its connections end");
    };
    read_only(&one, "on").await;
    let hosts = format!("127.0.0.1:1,127.0.0.1:{},127.0.0.1:{}", one.port(), two.port());
    let options = StoreOptions::new(format!("postgres://tenure@{hosts}/tenure"));
    let store = open(&options).await.expect("one of them accepts writes");
    store.append(&batch(0), false).await.expect("the append is accepted");

    // The other host accepts writes from now on. It is a separate database, as if all data had been lost.
    read_only(&one, "off").await;
    read_only(&two, "on").await;
    let moved = async || matches!(store.append(&batch(0), false).await, Ok(()) | Err(StoreError::Conflict));
    wait_until(DEADLINE, "the other host", moved).await;
    let other = open(&StoreOptions::new(one.url("tenure"))).await.expect("it opens");
    assert_eq!(other.heads().await, Ok(vec![("default".into(), Revision(1))]));

    read_only(&one, "on").await;
    let refusal = error(open(&options).await).to_string();
    assert!(refusal.contains("127.0.0.1:1: ") && refusal.contains("rejects writes"), "{refusal}");
}

/// A name leads to another database, while that before keeps its connections, and takes no more writes: as the endpoint
/// of a managed service does.
async fn follows_a_name_that_moves(urls: [String; 2], ports: [u16; 2], demote: impl AsyncFnOnce()) {
    let options = urls.each_ref().map(StoreOptions::new);
    for database in &options {
        migrate(database).await.expect("the tables are created");
    }
    let name = QueryProxy::start(ports[0], "no query has this", Vec::new()).await;
    let store = open(&StoreOptions::new(name.url(&urls[0]))).await.expect("it opens");
    store.append(&batch(0), false).await.expect("the append is accepted");
    name.move_to(ports[1]);
    store.append(&batch(1), false).await.expect("the database before still takes writes");
    demote().await;
    let moved = async || matches!(store.append(&batch(0), false).await, Ok(()));
    wait_until(DEADLINE, "an append to the other database", moved).await;
    let other = open(&options[1]).await.expect("it opens");
    assert_eq!(other.heads().await, Ok(vec![("default".into(), Revision(1))]));
}

#[tokio::test]
async fn name_that_moves_is_followed_on_postgres() {
    let servers = [Postgres::start().await.expect("it starts"), Postgres::start().await.expect("it starts")];
    for server in &servers {
        server.execute("CREATE DATABASE tenure").await.expect("it is created");
    }
    let demote = async || {
        servers[0].execute("ALTER SYSTEM SET default_transaction_read_only = on").await.expect("it is set");
        servers[0].execute("SELECT pg_reload_conf()").await.expect("it is read");
    };
    let (urls, ports) = (servers.each_ref().map(|server| server.url("tenure")), servers.each_ref().map(Postgres::port));
    follows_a_name_that_moves(urls, ports, demote).await;
}

#[tokio::test]
async fn name_that_moves_is_followed_on_mysql() {
    let servers = [MySql::start().await.expect("it starts"), MySql::start().await.expect("it starts")];
    for server in &servers {
        server.execute("CREATE DATABASE tenure").await.expect("it is created");
    }
    let demote = async || servers[0].execute("SET GLOBAL super_read_only = ON").await.expect("it is set");
    let (urls, ports) = (servers.each_ref().map(|server| server.url("tenure")), servers.each_ref().map(MySql::port));
    follows_a_name_that_moves(urls, ports, demote).await;
}

/// Appends, sends heartbeats and reads with the previous user and, when the file names another, with that one: without
/// a restart.
async fn follows_the_url_file(urls: [String; 2], lock_out: [impl AsyncFn(); 2]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("url");
    let [first, second] = urls;
    let write = |text: &str| std::fs::write(&file, text).expect("it is written");
    write(&first);
    let options = StoreOptions { url_file: Some(file.clone()), ..StoreOptions::new(&first) };
    migrate(&options).await.expect("the tables are created");
    let store = open(&options).await.expect("it opens");
    store.append(&batch(0), false).await.expect("the append is accepted");
    let record = |heartbeat: u64| ServerRecord {
        server: ServerId(7),
        heartbeat,
        lease: Duration::from_secs(10),
        label: String::new(),
        address: String::new(),
        certificate: String::new(),
        dead: false,
    };
    store.heartbeat(&record(FIRST_HEARTBEAT)).await.expect("it is written");
    let [cut, lock_out] = lock_out;
    // Invalid URLs are ignored, and so is a temporarily missing file.
    for text in ["", "nonsense", "sqlite:/other.db"] {
        write(text);
        cut().await;
        let reads = async || store.read("default", Revision(0), 1).await.is_ok();
        wait_until(DEADLINE, "the previous user", reads).await;
    }
    std::fs::remove_file(&file).expect("it is removed");
    cut().await;
    wait_until(DEADLINE, "the previous user", async || store.heads().await.is_ok()).await;
    write(&format!("{second}\n"));
    lock_out().await;
    assert!(open(&StoreOptions::new(&first)).await.is_err(), "the previous user is locked out");
    let appended = async || matches!(store.append(&batch(1), false).await, Ok(()) | Err(StoreError::Conflict));
    wait_until(DEADLINE, "an append as the other user", appended).await;
    wait_until(DEADLINE, "a heartbeat as the other user", async || store.heartbeat(&record(2)).await.is_ok()).await;
    assert_eq!(store.heads().await, Ok(vec![("default".into(), Revision(2))]));
    // A store that opens only now is included: its first URL is the previous one.
    migrate(&options).await.expect("the migrations are checked");
    open(&options).await.expect("it opens");
}

#[tokio::test]
async fn changed_url_file_is_read_again_on_postgres() {
    let (postgres, url, name) = postgres().await;
    let user = |number: u8| format!("user_{number}_of_{name}");
    for number in [1, 2] {
        postgres.execute(&format!("CREATE ROLE {} LOGIN SUPERUSER", user(number))).await.expect("it is created");
    }
    let urls = [1, 2].map(|number| url.replace("tenure@", &format!("{}@", user(number))));
    let change = |sql: String| {
        let name = name.clone();
        async move || {
            postgres.execute(&sql).await.expect("it is done");
            let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
            postgres.execute(&sql).await.expect("its connections end");
        }
    };
    follows_the_url_file(urls, ["SELECT 1".to_owned(), format!("ALTER ROLE {} NOLOGIN", user(1))].map(change)).await;
}

async fn changed_url_file_is_read_again<F: Flavour>() {
    let server = MySqlServer::<F>::start().await.expect("it starts");
    let server = &server;
    let url = server.create_database().await.expect("a database is created");
    let password = |password: &str| format!("ALTER USER rotated@'127.0.0.1' IDENTIFIED BY '{password}'");
    server.execute("CREATE USER rotated@'127.0.0.1' IDENTIFIED BY 'one'").await.expect("it is created");
    server.execute("GRANT ALL ON *.* TO rotated@'127.0.0.1'").await.expect("it is granted");
    let urls = ["one", "two"].map(|password| url.replace("root@", &format!("rotated:{password}@")));
    let change = |sql: String| {
        async move || {
            server.execute(&sql).await.expect("it is done");
            // Fails if the user has no connection any more.
            let _ = server.execute("KILL USER rotated@'127.0.0.1'").await;
        }
    };
    follows_the_url_file(urls, [password("one"), password("two")].map(change)).await;
}

#[tokio::test]
async fn url_may_name_several_hosts() {
    let (postgres, url, name) = postgres().await;
    migrate(&StoreOptions::new(url)).await.expect("the tables are created");
    let url = format!("postgres://tenure@127.0.0.1:1,127.0.0.1:{}/{name}", postgres.port());
    open(&StoreOptions::new(url)).await.expect("the second host answers");
}
