//! The store in engines that only resemble PostgreSQL, played by a PostgreSQL in which what they lack is hidden.

use tenure_conformance::{Plain, Subject, conformance};
use tenure_core::{Event, Recorded, Revision, ServerId};
use tenure_harness::Postgres;
use tenure_server::store::{Batch, StoreError, StoreOptions, migrate, open};

use sqlx::{Connection, Executor, PgConnection, Row};

/// CockroachDB has not all of PostgreSQL's settings, so that nothing is learnt of it, not even that no pooler is between.
const COCKROACH: &str = "CREATE FUNCTION current_setting(text) RETURNS text LANGUAGE plpgsql AS $$ \
    BEGIN RAISE undefined_object USING MESSAGE = 'unrecognized configuration parameter'; END $$; \
    CREATE FUNCTION pg_control_system() RETURNS int LANGUAGE plpgsql AS $$ \
    BEGIN RAISE undefined_function USING MESSAGE = 'unknown function'; END $$";

/// YugabyteDB is a PostgreSQL whose nodes are different clusters by their files, and does nothing but warn when it is to notify.
const YUGABYTE: &str = "CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ \
    SELECT 'PostgreSQL 15.12-YB-2025.2.0.0-b1 on x86_64-pc-linux-gnu, compiled by clang, 64-bit' $$; \
    CREATE FUNCTION pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$ \
    BEGIN RAISE WARNING 'NOTIFY not supported yet and will be ignored'; END $$";

/// Aurora tells where its log is only where that is decoded.
const AURORA: &str = "CREATE FUNCTION pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS $$ \
    BEGIN RAISE object_not_in_prerequisite_state USING MESSAGE = 'wal_level must be set to ''logical'''; END $$";

/// The URL of a database in which these functions come before PostgreSQL's own.
async fn database(functions: &str) -> String {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is made");
    let mut connection = PgConnection::connect(&url).await.expect("PostgreSQL answers");
    connection.execute(functions).await.expect("the functions are made");
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

/// `hints`: whether it passes notifications on.
async fn subject(functions: &str, hints: bool) -> Subject {
    let url = database(functions).await;
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are made");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let plain: Plain = Box::new(move |sql| {
        let url = url.clone();
        Box::pin(async move { fetch(&url, &sql).await })
    });
    Subject { one, two, plain: Some(plain), fail_over: None, hints, keep: Box::new(()) }
}

conformance!(cockroach, subject(COCKROACH, false).await);
conformance!(aurora, subject(AURORA, true).await);

fn batch() -> Batch {
    let event = Event::ServerAdopted { dead: ServerId(1), by: ServerId(2) };
    let events = vec![Recorded { revision: Revision(1), event }];
    Batch { namespace: "default".into(), previous: Revision(0), events, server: ServerId(1), number: 1, at_ms: 0 }
}

/// What they say of themselves would be wrong, and what they do not know must not be done.
#[tokio::test]
async fn of_relatives_it_is_not_known_who_they_are() {
    for functions in [COCKROACH, YUGABYTE, AURORA] {
        let subject = subject(functions, false).await;
        subject.one.append(&batch(), true).await.expect("the append is accepted");
        assert!(subject.two.read("default", Revision(0), 1).await.expect("it can be read").head.intact);
        let plain = subject.plain.as_ref().expect("it speaks SQL");
        assert_eq!(plain("SELECT database_identity FROM namespaces".to_owned()).await, ["unknown"]);
    }
}

#[tokio::test]
async fn who_does_not_know_whether_it_committed_is_believed() {
    let url = database(COCKROACH).await;
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are made");
    let ambiguous = "CREATE FUNCTION ambiguous() RETURNS trigger LANGUAGE plpgsql AS $$ \
        BEGIN RAISE statement_completion_unknown USING MESSAGE = 'result is ambiguous'; END $$; \
        CREATE TRIGGER ambiguous BEFORE INSERT ON batches EXECUTE FUNCTION ambiguous()";
    let mut connection = PgConnection::connect(&url).await.expect("PostgreSQL answers");
    connection.execute(ambiguous).await.expect("the trigger is made");
    let answer = open(&options).await.expect("it opens").append(&batch(), false).await;
    assert!(matches!(answer, Err(StoreError::OutcomeUnknown(_))), "{answer:?}");
}
