//! The store in PostgreSQL: directly, and through PgBouncer in transaction mode.

use sqlx::{Connection, PgConnection, Row};
use tenure_conformance::{Plain, Subject, conformance};
use tenure_harness::{PgBouncer, Postgres};
use tenure_server::store::{StoreOptions, migrate, open};
use tokio::sync::OnceCell;

/// A PgBouncer that all tests share.
async fn pgbouncer() -> &'static PgBouncer {
    static SHARED: OnceCell<PgBouncer> = OnceCell::const_new();
    SHARED
        .get_or_init(|| async {
            let postgres = Postgres::shared().await.expect("PostgreSQL starts");
            PgBouncer::start(postgres).await.expect("PgBouncer starts")
        })
        .await
}

async fn fetch(url: &str, sql: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(url).await.expect("PostgreSQL answers");
    let rows = sqlx::query(sql).fetch_all(&mut connection).await.expect("the query works");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Two servers that reach the database by `url`; the database itself is at `direct`.
async fn subject(url: String, direct: String, hints: bool) -> Subject {
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are made");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let plain: Plain = Box::new({
        let direct = direct.clone();
        move |sql| {
            let direct = direct.clone();
            Box::pin(async move { fetch(&direct, &sql).await })
        }
    });
    // The heads, and the tables' birth, say which cluster and timeline they were written on: here, that of another.
    let fail_over = Box::new(move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let direct = direct.clone();
        Box::pin(async move {
            for (table, key) in [("namespaces", "name"), ("tenure_birth", "birth")] {
                let sql = format!("UPDATE {table} SET database_identity = database_identity || '0' RETURNING {key}");
                assert!(!fetch(&direct, &sql).await.is_empty());
            }
        })
    });
    Subject { one, two, plain: Some(plain), fail_over: Some(fail_over), hints, keep: Box::new(()) }
}

async fn direct() -> Subject {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is made");
    subject(url.clone(), url, true).await
}

async fn pooled() -> Subject {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = pgbouncer().await.create_database(postgres).await.expect("a database is made");
    let name = url.rsplit('/').next().expect("a URL ends with the database's name").to_owned();
    subject(url, postgres.url(&name), false).await
}

conformance!(postgres, direct().await);
conformance!(pgbouncer, pooled().await);
