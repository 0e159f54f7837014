//! The calls of members, each beside the stream.

use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::group_service_client::GroupServiceClient;

use crate::connection::{Connection, LARGEST_ANSWER, Retry, Wire};
use crate::error::Result;
use crate::model::{Assignments, Group, GroupLeader, Metadata};

impl Connection {
    /// Sets the value that a group shares: see [`Client::configure_group`](crate::Client::configure_group).
    pub(crate) async fn configure_group(&self, name: &str, config: Option<&str>, expected: Option<u64>) -> Result<u64> {
        // A repeated call would find the config of the first one instead of the expected one.
        let retry = if expected.is_none() { Retry::Safe } else { Retry::Unsafe };
        let message = v1::ConfigureGroupRequest {
            namespace: self.namespace().to_owned(),
            group: name.to_owned(),
            config: config.map(ToOwned::to_owned),
            expected_revision: expected,
        };
        let call = async |wire, request| groups(wire).configure_group(request).await;
        Ok(self.call_with(retry, Duration::ZERO, &message, call).await?.config_revision)
    }

    /// Makes a session a member. Returns its number, and the group.
    pub(super) async fn join_group(&self, name: &str, session: &str, metadata: Metadata) -> Result<(u64, Group)> {
        let message = v1::JoinGroupRequest {
            namespace: self.namespace().to_owned(),
            group: name.to_owned(),
            session_id: session.to_owned(),
            metadata,
            ..v1::JoinGroupRequest::default()
        };
        let call = async |wire, request| groups(wire).join_group(request).await;
        let answer = self.call(&message, call).await?;
        Ok((answer.member, answer.group.unwrap_or_default().into()))
    }

    pub(super) async fn leave_group(&self, name: &str, session: &str, member: u64) -> Result<()> {
        let message = v1::LeaveGroupRequest {
            namespace: self.namespace().to_owned(),
            group: name.to_owned(),
            session_id: session.to_owned(),
            member,
        };
        let call = async |wire, request| groups(wire).leave_group(request).await;
        self.call(&message, call).await.map(drop)
    }

    /// Assigns on behalf of a leader. The assignments were computed from this state of the group.
    pub(super) async fn assign_group(
        &self,
        group: &Group,
        leader: &GroupLeader,
        assignments: Assignments,
    ) -> Result<()> {
        let message = v1::AssignGroupRequest {
            namespace: self.namespace().to_owned(),
            group: group.name.clone(),
            session_id: leader.session_id.clone(),
            token: leader.token,
            membership_revision: group.membership_revision,
            config_revision: group.config_revision,
            assignments,
        };
        let call = async |wire, request| groups(wire).assign_group(request).await;
        self.call(&message, call).await.map(drop)
    }
}

fn groups(wire: Wire) -> GroupServiceClient<Wire> {
    GroupServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER)
}
