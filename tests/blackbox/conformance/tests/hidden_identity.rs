//! The store in a PostgreSQL that does not reveal its identity, simulated by a PostgreSQL that hides it.

use tenure_conformance::{Query, Subject, conformance};
use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::Postgres;
use tenure_server::store::{Batch, StoreError, StoreOptions, migrate, open};

use sqlx::{Connection, Executor, PgConnection, Row};

/// A PostgreSQL whose user lacks the privilege to query the identity.
const FORBIDDEN: &str = "CREATE FUNCTION pg_control_system() RETURNS int LANGUAGE plpgsql AS $$ \
    BEGIN RAISE insufficient_privilege USING MESSAGE = 'permission denied for function pg_control_system'; END $$";

/// Aurora reveals its log position only where logical decoding is enabled.
const AURORA: &str = "CREATE FUNCTION pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS $$ \
    BEGIN RAISE object_not_in_prerequisite_state USING MESSAGE = 'wal_level must be set to ''logical'''; END $$";

/// The URL of a database in which these functions take precedence over PostgreSQL's own.
async fn database(functions: &str) -> String {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    let mut connection = PgConnection::connect(&url).await.expect("PostgreSQL answers");
    connection.execute(functions).await.expect("the functions are created");
    let name = url.rsplit('/').next().expect("a URL ends with the database's name");
    let search = format!("ALTER DATABASE {name} SET search_path = public, pg_catalog");
    connection.execute(&*search).await.expect("the functions are found");
    url
}

async fn fetch(url: &str, sql: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(url).await.expect("PostgreSQL answers");
    let rows = sqlx::query(sql).fetch_all(&mut connection).await.expect("the query works");
    rows.iter().map(|row| row.get(0)).collect()
}

async fn subject(functions: &str) -> Subject {
    let url = database(functions).await;
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are created");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let query: Query = Box::new(move |sql| {
        let url = url.clone();
        Box::pin(async move { fetch(&url, &sql).await })
    });
    Subject { one, two, query: Some(query), fail_over: None, hints: true, keep: Box::new(()) }
}

conformance!(store, subject(AURORA).await);

fn batch() -> Batch {
    let events = vec![Recorded { revision: Revision(1), event: filler(1) }];
    Batch { namespace: "default".into(), previous: Revision(0), events, server: ServerId(1), number: 1, at_ms: 0 }
}

#[tokio::test]
async fn hidden_identity_is_stored_as_unknown() {
    for functions in [FORBIDDEN, AURORA] {
        let subject = subject(functions).await;
        subject.one.append(&batch(), true).await.expect("the append is accepted");
        assert!(subject.two.read("default", Revision(0), 1).await.expect("it can be read").head.intact);
        let query = subject.query.as_ref().expect("the store supports SQL");
        assert_eq!(query("SELECT database_identity FROM namespaces".to_owned()).await, ["unknown"]);
    }
}

#[tokio::test]
async fn ambiguous_commit_is_an_unknown_outcome() {
    let url = database(AURORA).await;
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are created");
    let ambiguous = "CREATE FUNCTION ambiguous() RETURNS trigger LANGUAGE plpgsql AS $$ \
        BEGIN RAISE statement_completion_unknown USING MESSAGE = 'result is ambiguous'; END $$; \
        CREATE TRIGGER ambiguous BEFORE INSERT ON batches EXECUTE FUNCTION ambiguous()";
    let mut connection = PgConnection::connect(&url).await.expect("PostgreSQL answers");
    connection.execute(ambiguous).await.expect("the trigger is created");
    let outcome = open(&options).await.expect("it opens").append(&batch(), false).await;
    assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
}
