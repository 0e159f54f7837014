//! Writes to a database under a lock; the database rejects writes of a former holder, even if it was paused in the
//! middle of one.
//!
//! `cargo run -p tenure-fence --example fenced_write -- work.db`, with a server of `TENURE_ENDPOINTS` (default: this
//! machine's port 7420).

use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tenure_client::{Client, ClientOptions};
use tenure_fence::{FenceError, check, install};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "work.db".to_owned());
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(file).create_if_missing(true)).await?;
    install(&mut *pool.acquire().await?).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)").execute(&pool).await?;

    let client = Client::connect(ClientOptions::from_env())?;
    let first = client.lock("nightly-report").owner("fenced_write").acquire().await?;
    let old_token = first.token();
    println!("acquired token={old_token}");
    write(&pool, old_token).await?;
    println!("wrote");
    first.release().await?;

    // Had the first holder been paused instead, the next one would have acquired the lock after the TTL and continued
    // like this.
    let next = client.lock("nightly-report").owner("fenced_write").acquire().await?;
    println!("acquired token={}", next.token());
    write(&pool, next.token()).await?;
    println!("wrote");

    // The first holder resumes, unaware that it has lost the lock.
    match write(&pool, old_token).await {
        Err(FenceError::Stale { token, highest, .. }) => println!("refused token={token} highest={highest}"),
        other => anyhow::bail!("not refused: {other:?}"),
    }
    next.release().await?;
    Ok(client.close().await?)
}

// snippet: write
/// One write: all that belongs to it in one transaction, and the check first.
async fn write(pool: &SqlitePool, token: u64) -> Result<(), FenceError> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    check(&mut transaction, "nightly-report", token).await?;
    sqlx::query("INSERT INTO reports (pages) VALUES (1)").execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}
// snippet end
