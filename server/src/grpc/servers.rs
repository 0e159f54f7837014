//! Lists the servers, for operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::ServerId;
use tenure_proto::v1;
use tonic::Status;

use super::authorize::Admitted;
use super::{Api, convert, in_time};
use crate::node::Node;
use crate::store::ServerRecord;

impl Api {
    pub(super) async fn list_servers(
        &self,
        asked: Admitted<v1::ListServersRequest>,
    ) -> Result<v1::ListServersResponse, Status> {
        let (request, principal) = asked.into_parts();
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let read = namespace.read(|table| (table.homes().collect::<BTreeMap<_, _>>(), table.revision().0));
        let (homes, revision) = in_time(read).await?;
        let node = self.node()?;
        Ok(v1::ListServersResponse {
            revision,
            lease_left: node.lease.left().map(convert::duration),
            ..known_to(&node, &homes)
        })
    }
}

/// The servers as last known by a node, each with its number of sessions.
fn known_to(node: &Arc<Node>, homes: &BTreeMap<ServerId, usize>) -> v1::ListServersResponse {
    let Some(known) = node.membership.known_servers() else { return v1::ListServersResponse::default() };
    let now = node.lease.now();
    let server = |(record, since_heartbeat): &(ServerRecord, Option<Duration>)| {
        let sessions = homes.get(&record.server).copied().unwrap_or_default();
        let heartbeats = !record.dead && !node.store.exclusive();
        v1::Server {
            id: record.server.0,
            label: record.label.clone(),
            address: record.address.clone(),
            answering: record.server == node.id,
            dead: record.dead,
            lease: Some(convert::duration(record.lease)),
            since_heartbeat: since_heartbeat
                .filter(|_| heartbeats)
                .map(|since_heartbeat| convert::duration(now.saturating_sub(since_heartbeat))),
            sessions: sessions as u64,
            unreachable: node.membership.unreachable(record.server).filter(|_| !record.dead).unwrap_or_default(),
        }
    };
    let mut servers: Vec<v1::Server> = known.servers.iter().map(server).collect();
    servers.retain(|server| !server.dead || server.sessions > 0);
    servers.sort_by(|one, other| (&one.label, one.id).cmp(&(&other.label, other.id)));
    v1::ListServersResponse { servers, heartbeat_took: Some(convert::duration(known.took)), ..Default::default() }
}
