//! Lower bound of a handover: a bare commit of the database and a no-op call.

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use sqlx::{Connection, PgConnection};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::relay::{Contender, relay};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::empty::Empty;
use crate::target::store::{Database, Store};
use crate::work::{Candidate, Subject};

/// A turn is one of each in sequence, after the same pause as in a handover.
pub fn candidate() -> Candidate {
    Candidate::new("commit-and-call-postgres", async |lab: Arc<Lab>| {
        let database = Store::Postgres.fresh(&lab).await?;
        let mut connection = PgConnection::connect(database.url.as_deref().context("a URL")?).await?;
        for sql in ["CREATE TABLE one (number bigint NOT NULL)", "INSERT INTO one VALUES (0)"] {
            sqlx::query(sql).execute(&mut connection).await?;
        }
        let empty = lab.empty().await?;
        let call = HealthClient::new(empty.channels().await?.swap_remove(0));
        Ok(Limit { database, _empty: empty, both: Some(Both { connection, call }) })
    })
    .only_at(&[1])
}

struct Limit {
    database: Database,
    _empty: Arc<Empty>,
    // None while a measurement uses it.
    both: Option<Both>,
}

struct Both {
    connection: PgConnection,
    call: HealthClient<tonic::transport::Channel>,
}

#[async_trait]
impl Subject for Limit {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let both = self.both.take().context("the connection broke")?;
        let (figures, mut both) = relay(load, &self.database.processes(), vec![both]).await?;
        self.both = both.pop();
        Ok(figures)
    }
}

impl Contender for Both {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        let changed = sqlx::query("UPDATE one SET number = number + 1").execute(&mut self.connection).await?;
        ensure!(changed.rows_affected() == 1, "the row is gone");
        self.call.check(HealthCheckRequest::default()).await?;
        Ok(())
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
