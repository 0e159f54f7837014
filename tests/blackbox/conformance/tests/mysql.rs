//! The store in MariaDB.

use sqlx::{Connection, MySqlConnection, Row};
use tenure_conformance::{Query, Subject, conformance};
use tenure_harness::MariaDb;
use tenure_server::store::{StoreOptions, migrate, open};

async fn subject() -> Subject {
    let mariadb = MariaDb::shared().await.expect("MariaDB starts");
    let url = mariadb.create_database().await.expect("a database is created");
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are created");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let query: Query = Box::new({
        let url = url.clone();
        move |sql| {
            let url = url.clone();
            Box::pin(async move {
                let mut connection = MySqlConnection::connect(&url).await.expect("MariaDB answers");
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
            let mut connection = MySqlConnection::connect(&url).await.expect("MariaDB answers");
            for table in ["namespaces", "tenure_identity"] {
                let sql = format!("UPDATE {table} SET database_identity = CONCAT(database_identity, '0')");
                let done = sqlx::query(&sql).execute(&mut connection).await.expect("the update works");
                assert!(done.rows_affected() > 0);
            }
        })
    });
    Subject { one, two, query: Some(query), fail_over: Some(fail_over), hints: false, keep: Box::new(()) }
}

conformance!(store, subject().await);
