//! Keep-alives of Tenure's clients, on the declared stream.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;
use tenure_proto::v1::CloseSessionRequest;
use tenure_proto::v1::session_service_client::SessionServiceClient;

use super::flood::{Renewals, flood};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::CONNECTIONS;
use crate::target::store::Store;
use crate::target::tenure::raw::{self, Raw};
use crate::target::tenure::{Cluster, TTL};
use crate::work::{Candidate, Subject};

/// The target on PostgreSQL, which should see no load.
pub fn candidate() -> Candidate {
    Candidate::new("tenure-stream-postgres", async |lab: Arc<Lab>| Ok(Sessions(lab.cluster(Store::Postgres, 1).await?)))
}

struct Sessions(Arc<Cluster>);

#[async_trait]
impl Subject for Sessions {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let Opened { all, sessions } = open(&self.0, load).await?;
        let before = self.0.revision().await?;
        let figures = flood(load, &self.0.processes(), all).await?;
        let written = self.0.revision().await? - before;
        close(&self.0, sessions).await?;
        Ok(figures.with("revisions_written", written as f64))
    }
}

/// Opened sessions, each of a client with a stream of its own.
pub struct Opened {
    /// The connections, with the renewals of the sessions.
    pub all: Vec<Renewals>,
    /// Their ids.
    pub sessions: Vec<String>,
}

/// Opens the level's number of sessions.
pub async fn open(cluster: &Cluster, load: &Load) -> anyhow::Result<Opened> {
    let (mut all, mut sessions) = (Vec::new(), Vec::new());
    for connection in 0..CONNECTIONS {
        let mut raw = Raw::open(cluster.port()?).await?;
        let mut streams = HashMap::new();
        let mut declarations = Vec::new();
        for number in (connection..load.level).step_by(CONNECTIONS) {
            let session = format!("keep-alive-{}-{number}", load.number);
            let stream = raw.begin(&format!("client-of-{session}"));
            declarations.push((stream, vec![raw.session(&session, TTL, None)?]));
            streams.insert(stream, raw::keep_alive());
            sessions.push(session);
        }
        raw.declare(declarations).await?;
        all.push(Renewals { connection: raw.connection, streams, check: raw::kept_alive });
    }
    Ok(Opened { all, sessions })
}

/// Closes these sessions.
pub async fn close(cluster: &Cluster, sessions: Vec<String>) -> anyhow::Result<()> {
    let channels = cluster.channels().await?;
    let closed = sessions.into_iter().zip(channels.iter().cycle()).map(async |(session_id, channel)| {
        let request = CloseSessionRequest { session_id, ..CloseSessionRequest::default() };
        SessionServiceClient::new(channel.clone()).close_session(request).await
    });
    try_join_all(closed).await?;
    Ok(())
}
