//! Databases without room for another connection, and users without rights: the reason is reported, and the store
//! works again by itself.

use std::time::Duration;

use sqlx::{Connection, MySqlConnection, PgConnection};
use tenure_harness::{Flavour, MySqlServer, Postgres, on_mariadb_and_mysql, wait_until};
use tenure_server::store::{StoreError, StoreOptions, migrate, open};

use crate::opening::batch;

/// Longer than any operation in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

on_mariadb_and_mysql!(store_works_again_when_connections_are_free, user_without_rights_is_rejected);

/// A store whose connections are cut, and all connections then taken by others, reports this reason, and works again
/// when they are free.
async fn waits_for_connections<C: Connection>(url: &str, others: &str, cut: impl AsyncFn(), reason: &str) {
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are created");
    let store = open(&options).await.expect("it opens");
    let mut taken = Vec::new();
    let refused = async || {
        cut().await;
        while let Ok(connection) = C::connect(others).await {
            taken.push(connection);
        }
        let appended = store.append(&batch(0), false).await;
        matches!(appended, Err(StoreError::Unavailable(message)) if message.contains(reason))
    };
    wait_until(DEADLINE, "the reason is reported", refused).await;
    let opened = open(&options).await.err().expect("there is no connection").to_string();
    assert!(opened.contains(reason), "{opened}");
    drop(taken);
    let appended = async || matches!(store.append(&batch(0), false).await, Ok(()) | Err(StoreError::Conflict));
    wait_until(DEADLINE, "an append", appended).await;
}

#[tokio::test]
async fn store_works_again_when_connections_of_postgres_are_free() {
    let postgres = Postgres::start_with(&["max_connections=12"]).await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    let name = url.rsplit('/').next().expect("a URL ends with the database's name");
    // Superusers have connections of their own.
    for user in ["locks", "others"] {
        postgres.execute(&format!("CREATE ROLE {user} LOGIN")).await.expect("it is created");
    }
    postgres.execute(&format!("ALTER DATABASE {name} OWNER TO locks")).await.expect("it is the owner");
    let [url, others] = ["locks@", "others@"].map(|user| url.replace("tenure@", user));
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locks'";
    let cut = async || postgres.execute(end).await.expect("its connections end");
    waits_for_connections::<PgConnection>(&url, &others, cut, "connection slots are reserved").await;
}

async fn store_works_again_when_connections_are_free<F: Flavour>() {
    let server = MySqlServer::<F>::start_with(&["--max-connections=12"]).await.expect("it starts");
    let url = server.create_database().await.expect("a database is created");
    let name = url.rsplit('/').next().expect("a URL ends with the database's name");
    // One more connection is for administrators.
    for user in ["locks", "others"] {
        server.execute(&format!("CREATE USER {user}@'127.0.0.1'")).await.expect("it is created");
        server.execute(&format!("GRANT ALL ON {name}.* TO {user}@'127.0.0.1'")).await.expect("it is granted");
    }
    let [url, others] = ["locks@", "others@"].map(|user| url.replace("root@", user));
    // Fails if the user has no connection.
    let cut = async || drop(server.execute("KILL USER locks@'127.0.0.1'").await);
    waits_for_connections::<MySqlConnection>(&url, &others, cut, "Too many connections").await;
}

/// A user that can read the tables, if there are any, reports what it has no right to.
async fn is_rejected(owner: &str, user: &str, reasons: [&str; 2]) {
    let options = StoreOptions::new(user);
    let refused = migrate(&options).await.expect_err("it may not create tables").to_string();
    assert!(refused.contains(reasons[0]), "{refused}");
    migrate(&StoreOptions::new(owner)).await.expect("the tables are created");
    let store = match open(&options).await {
        Ok(store) => store,
        Err(refused) => return assert!(refused.to_string().contains(reasons[1]), "{refused}"),
    };
    let refused = store.append(&batch(0), false).await;
    let Err(StoreError::Unavailable(message)) = &refused else { panic!("{refused:?}") };
    assert!(message.contains(reasons[1]), "{message}");
}

#[tokio::test]
async fn postgres_user_without_rights_is_rejected() {
    let postgres = Postgres::start().await.expect("PostgreSQL starts");
    let owner = postgres.create_database().await.expect("a database is created");
    postgres.execute("CREATE ROLE reader LOGIN").await.expect("it is created");
    let mut connection = PgConnection::connect(&owner).await.expect("it answers");
    // Before version 15 all users have this right.
    let grants = "REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
        ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader";
    sqlx::raw_sql(grants).execute(&mut connection).await.expect("they are set");
    let user = owner.replace("tenure@", "reader@");
    is_rejected(&owner, &user, ["permission denied for schema public", "permission denied for table"]).await;
}

async fn user_without_rights_is_rejected<F: Flavour>() {
    let server = MySqlServer::<F>::start().await.expect("it starts");
    let owner = server.create_database().await.expect("a database is created");
    server.execute("CREATE USER reader@'127.0.0.1'").await.expect("it is created");
    let name = owner.rsplit('/').next().expect("a URL ends with the database's name");
    server.execute(&format!("GRANT SELECT ON {name}.* TO reader@'127.0.0.1'")).await.expect("it is granted");
    let user = owner.replace("root@", "reader@");
    is_rejected(&owner, &user, ["CREATE command denied to user 'reader'", "command denied to user 'reader'"]).await;
}
