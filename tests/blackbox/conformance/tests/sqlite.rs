//! The store in a SQLite file.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};
use tenure_conformance::{Query, Subject, conformance};
use tenure_server::store::{StoreOptions, migrate, open};

async fn subject() -> Subject {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tenure.db");
    let options = StoreOptions::new(format!("sqlite:{}", path.display()));
    migrate(&options).await.expect("the tables are created");
    let store = open(&options).await.expect("the store opens");
    let writer = SqliteConnectOptions::new().filename(&path);
    let fail_over = Box::new(move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let options = writer.clone();
        Box::pin(async move {
            let mut connection = options.connect().await.expect("the file opens");
            for table in ["namespaces", "tenure_identity"] {
                let sql = format!("UPDATE {table} SET database_identity = ''");
                let done = sqlx::query(&sql).execute(&mut connection).await.expect("it is changed");
                assert!(done.rows_affected() > 0);
            }
        })
    });
    let query: Query = Box::new(move |sql| {
        let options = SqliteConnectOptions::new().filename(&path).read_only(true);
        Box::pin(async move {
            let mut connection = options.connect().await.expect("the file opens");
            let rows = sqlx::query(&sql).fetch_all(&mut connection).await.expect("the query works");
            rows.iter().map(|row| row.get(0)).collect()
        })
    });
    Subject {
        one: store.clone(),
        two: store,
        query: Some(query),
        fail_over: Some(fail_over),
        hints: false,
        keep: Box::new(folder),
    }
}

conformance!(store, subject().await);
