//! The store in PostgreSQL: directly, and through PgBouncer in transaction mode.

use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, Row};
use tenure_conformance::{Query, Subject, conformance};
use tenure_harness::{PgBouncer, Postgres, wait_until};
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
    migrate(&options).await.expect("the tables are created");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let query: Query = Box::new({
        let direct = direct.clone();
        move |sql| {
            let direct = direct.clone();
            Box::pin(async move { fetch(&direct, &sql).await })
        }
    });
    // The heads and the tables' created_identity contain the cluster and timeline that they were written on: this
    // changes them to others.
    let fail_over = Box::new(move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let direct = direct.clone();
        Box::pin(async move {
            for (table, key) in [("namespaces", "name"), ("tenure_identity", "created_identity")] {
                let sql = format!("UPDATE {table} SET database_identity = database_identity || '0' RETURNING {key}");
                assert!(!fetch(&direct, &sql).await.is_empty());
            }
        })
    });
    Subject { one, two, query: Some(query), fail_over: Some(fail_over), hints, keep: Box::new(()) }
}

async fn direct() -> Subject {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    subject(url.clone(), url, true).await
}

async fn pooled() -> Subject {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = pgbouncer().await.create_database(postgres).await.expect("a database is created");
    let name = url.rsplit('/').next().expect("a URL ends with the database's name").to_owned();
    subject(url, postgres.url(&name), false).await
}

conformance!(direct, direct().await);
conformance!(through_pgbouncer, pooled().await);

/// With some thousands of locks and commits, no view's plan costs so much that PostgreSQL would JIT-compile it before
/// answering.
#[tokio::test]
async fn views_are_planned_without_jit_compilation() {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    migrate(&StoreOptions::new(&url)).await.expect("the tables are created");
    let mut connection = PgConnection::connect(&url).await.expect("PostgreSQL answers");
    connection
        .execute(
            "INSERT INTO namespaces VALUES ('default', 10000, 'x'); \
            INSERT INTO row_heads VALUES ('default', 5000, 0); \
            INSERT INTO batches SELECT 'default', n * 2, n * 2 - 2, 1, n, n, format('[{\"revision\":%s,\"event\":\"claim_granted\",\
            \"claim\":%s,\"session\":\"s\",\"opened\":1,\"owner\":\"o\",\"names\":[\"lock/%s\"],\"metadata\":{}},\
            {\"revision\":%s,\"event\":\"session_ended\",\"session\":\"s\",\"opened\":%s,\"reason\":\"closed\"}]', \
            n * 2 - 1, n * 2 - 1, n, n * 2, n) FROM generate_series(1, 5000) AS n; \
            INSERT INTO sessions (namespace, opened, id, owner, ttl_ms, home, metadata) \
            SELECT 'default', n, 's' || n, 'o', 10000, 1, '{}' FROM generate_series(1, 5000) AS n; \
            INSERT INTO claims (namespace, id, position, name, state, token, session, opened, owner, priority, min_hold_ms, mode, metadata) \
            SELECT 'default', n, 0, 'lock/' || n, 'held', n, 's', 1, 'o', 0, 0, 'exclusive', '{}' FROM generate_series(1, 5000) AS n; \
            INSERT INTO settings SELECT 'default', n, 'lock/' || n, 3, NULL, NULL FROM generate_series(1, 500) AS n; \
            INSERT INTO member_groups (namespace, id, name, membership, leader, token) \
            SELECT 'default', n, 'g' || n, n, n, n FROM generate_series(1, 500) AS n; \
            INSERT INTO group_members (namespace, group_id, number, session, opened, owner, metadata) \
            SELECT 'default', 1 + n % 500, n, 's', 1, 'o', '{}' FROM generate_series(1, 2000) AS n",
        )
        .await
        .expect("rows are inserted");
    let bound: String = sqlx::query_scalar("SELECT current_setting('jit_above_cost')")
        .fetch_one(&mut connection)
        .await
        .expect("it is set");
    let bound: f64 = bound.parse().expect("a number");
    for analyzed in [false, true] {
        let sql = "SELECT table_name::text FROM information_schema.views WHERE table_schema = current_schema()";
        let views: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.expect("they are listed");
        assert!(views.len() >= 10, "{views:?}");
        for view in views {
            let sql = format!("EXPLAIN SELECT * FROM {view}");
            let plan: Vec<String> = sqlx::query_scalar(&sql).fetch_all(&mut connection).await.expect("it is planned");
            let cost = plan[0].split("..").nth(1).and_then(|rest| rest.split(' ').next()).expect("a cost");
            let cost: f64 = cost.parse().expect("a number");
            assert!(cost < bound, "{view}, analyzed: {analyzed}: {}", plan.join("\n"));
        }
        connection.execute("ANALYZE").await.expect("the tables are analyzed");
    }
}

/// A new table has no statistics, and PostgreSQL would rather sort all rows that are left for each page.
#[tokio::test]
async fn rows_are_loaded_in_the_order_of_their_key() {
    const ROWS: i64 = 20_000;
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    migrate(&StoreOptions::new(&url)).await.expect("the tables are created");
    let mut connection = PgConnection::connect(&url).await.expect("PostgreSQL answers");
    let rows = format!(
        "ALTER TABLE claims SET (autovacuum_enabled = false); \
        INSERT INTO row_heads VALUES ('default', {ROWS}, 0); \
        INSERT INTO claims (namespace, id, position, name, state, token, session, opened, owner, priority, \
        min_hold_ms, mode, metadata) \
        SELECT 'default', n, 0, 'lock/' || n, 'held', n, 's', 1, 'o', 0, 0, 'exclusive', '{{}}' \
        FROM generate_series(1, {ROWS}) AS n"
    );
    connection.execute(&*rows).await.expect("rows are inserted");
    let store = open(&StoreOptions::new(&url)).await.expect("it opens");
    let loaded = store.load("default").await.expect("it loads");
    assert_eq!(loaded.claims.len(), ROWS as usize);
    // The database counts what a connection has read when that ends.
    drop(store);
    let sql = "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'claims'";
    let is_read = async || {
        let read: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("it is counted");
        assert!(read < 2 * ROWS, "{read} were read");
        read >= ROWS
    };
    wait_until(Duration::from_secs(30), "the rows that were read are counted", is_read).await;
}
