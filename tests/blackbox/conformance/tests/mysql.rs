//! The store in MariaDB and in MySQL, with default settings, and with others that are in use.

use std::time::Duration;

use sqlx::{Connection, Executor, MySqlConnection, Row};
use tenure_conformance::{Query, Subject, conformance};
use tenure_harness::{Flavour, MariaDb, MySql, MySqlServer, wait_until};
use tenure_server::store::{StoreError, StoreOptions, migrate, open};
use tokio::sync::OnceCell;

use crate::opening::batch;

/// Longer than any operation in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

/// A MySQL, shared by all tests, with settings that managed databases and other systems have.
async fn configured() -> &'static MySql {
    static SHARED: OnceCell<MySql> = OnceCell::const_new();
    let settings =
        ["--sql-require-primary-key=ON", "--autocommit=0", "--sql-mode=ANSI_QUOTES", "--lower-case-table-names=1"];
    SHARED.get_or_init(async || MySql::start_with(&settings).await.expect("it starts")).await
}

/// A connection in which each statement commits.
async fn connect(url: &str) -> MySqlConnection {
    let mut connection = MySqlConnection::connect(url).await.expect("it answers");
    connection.execute("SET autocommit = 1").await.expect("it is set");
    connection
}

async fn subject<F: Flavour>(server: &MySqlServer<F>) -> Subject {
    let url = server.create_database().await.expect("a database is created");
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are created");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let query: Query = Box::new({
        let url = url.clone();
        move |sql| {
            let url = url.clone();
            Box::pin(async move {
                let mut connection = connect(&url).await;
                let rows = sqlx::query(&sql).fetch_all(&mut connection).await.expect("the query works");
                rows.iter().map(|row| row.get_unchecked(0)).collect()
            })
        }
    });
    // The heads and the tables' created_identity contain the server that they were written on: this changes it to
    // another one.
    let fail_over = Box::new(move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let url = url.clone();
        Box::pin(async move {
            let mut connection = connect(&url).await;
            for table in ["namespaces", "tenure_identity"] {
                let sql = format!("UPDATE {table} SET database_identity = CONCAT(database_identity, '0')");
                let done = sqlx::query(&sql).execute(&mut connection).await.expect("the update works");
                assert!(done.rows_affected() > 0);
            }
        })
    });
    Subject { one, two, query: Some(query), fail_over: Some(fail_over), hints: false, keep: Box::new(()) }
}

conformance!(mariadb, subject(MariaDb::shared().await.expect("MariaDB starts")).await);
conformance!(mysql, subject(MySql::shared().await.expect("MySQL starts")).await);
conformance!(configured_mysql, subject(configured().await).await);

/// With `lower_case_table_names=1`, names of databases are the same in any case, and so is the lock of migrations.
#[tokio::test]
async fn database_is_the_same_in_any_case() {
    let mysql = configured().await;
    mysql.execute("CREATE DATABASE Locks_Of_Mine").await.expect("a database is created");
    let options = ["Locks_Of_Mine", "locks_of_mine"].map(|name| StoreOptions::new(mysql.url(name)));
    let (one, two) = tokio::join!(migrate(&options[0]), migrate(&options[1]));
    one.and(two).expect("the tables are created");
    let [one, two] = options.each_ref().map(open);
    one.await.expect("it opens").append(&batch(0), false).await.expect("the append is accepted");
    let repeated = two.await.expect("it opens").append(&batch(0), false).await;
    assert!(matches!(repeated, Err(StoreError::Conflict)), "{repeated:?}");
}

/// The default way to log in, for which the server needs the password itself when it does not have it in memory: over
/// TLS, or encrypted with the server's public key.
#[tokio::test]
async fn user_with_caching_sha2_password_logs_in_with_and_without_tls() {
    let mysql = MySql::shared().await.expect("MySQL starts");
    let url = mysql.create_database().await.expect("a database is created");
    mysql.execute("CREATE USER locks@localhost IDENTIFIED BY 'p@ss word'").await.expect("it is created");
    mysql.execute("GRANT ALL ON *.* TO locks@localhost").await.expect("it is granted");
    let url = url.replace("root@", "locks:p%40ss%20word@");
    let connections =
        "SELECT DISTINCT connection_type FROM performance_schema.threads WHERE processlist_user = 'locks'";
    for (mode, kind) in [("DISABLED", "TCP/IP"), ("REQUIRED", "SSL/TLS")] {
        for is_known in [false, true] {
            if !is_known {
                mysql.execute("FLUSH PRIVILEGES").await.expect("the passwords in memory are dropped");
            }
            let options = StoreOptions::new(format!("{url}?ssl-mode={mode}"));
            migrate(&options).await.expect("the tables are created");
            let store = open(&options).await.expect("it opens");
            store.heads().await.expect("it answers");
            let mut root = connect(&mysql.url("")).await;
            let rows = root.fetch_all(connections).await.expect("the query works");
            let kinds: Vec<String> = rows.iter().map(|row| row.get_unchecked(0)).collect();
            assert_eq!(kinds, [kind], "{mode}, {is_known}");
            drop(store);
            let is_gone = async || root.fetch_all(connections).await.is_ok_and(|rows| rows.is_empty());
            wait_until(DEADLINE, "the store's connections have ended", is_gone).await;
        }
    }
    let wrong = open(&StoreOptions::new(url.replace("word@", "wort@"))).await.err().expect("it is rejected");
    assert!(wrong.to_string().contains("Access denied for user 'locks'"), "{wrong}");
}

/// A primary that becomes a secondary, and a primary again.
#[tokio::test]
async fn store_recovers_when_super_read_only_ends() {
    let mysql = MySql::start().await.expect("MySQL starts");
    let options = StoreOptions::new(mysql.create_database().await.expect("a database is created"));
    migrate(&options).await.expect("the tables are created");
    let store = open(&options).await.expect("it opens");
    store.append(&batch(0), false).await.expect("the append is accepted");
    mysql.execute("SET GLOBAL super_read_only = 1").await.expect("it is set");
    // On a connection from before, and on a new one.
    for reason in ["--super-read-only", "the database rejects writes"] {
        let rejected = store.append(&batch(1), false).await;
        let Err(StoreError::Unavailable(message)) = &rejected else { panic!("{rejected:?}") };
        assert!(message.contains(reason), "{message}");
    }
    mysql.execute("SET GLOBAL super_read_only = 0, GLOBAL read_only = 0").await.expect("it is set");
    store.append(&batch(1), false).await.expect("the append is accepted");
}
