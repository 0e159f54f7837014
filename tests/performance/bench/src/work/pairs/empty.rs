//! Lower bound of pairs: a no-op gRPC call.

use std::sync::Arc;

use async_trait::async_trait;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::empty::Empty;
use crate::work::{Candidate, Subject};

/// A turn is one call.
pub fn candidate() -> Candidate {
    Candidate::new("empty-call", async |lab| {
        let empty = lab.empty().await?;
        Ok(Calls { channels: empty.channels().await?, empty })
    })
}

struct Calls {
    empty: Arc<Empty>,
    channels: Vec<Channel>,
}

#[async_trait]
impl Subject for Calls {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let channels = self.channels.iter().cycle().take(load.level);
        let users = channels.map(|channel| Caller(HealthClient::new(channel.clone()))).collect();
        Ok(closed_loop(load, &self.empty.processes(), users).await?.0)
    }
}

struct Caller(HealthClient<Channel>);

impl User for Caller {
    async fn turn(&mut self) -> anyhow::Result<()> {
        self.0.check(HealthCheckRequest::default()).await?;
        Ok(())
    }
}
