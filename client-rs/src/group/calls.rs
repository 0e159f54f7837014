//! What is asked of groups, each a call of its own beside the stream.

use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tokio_stream::Stream;

use super::model::{Assignments, Group, GroupLeader};
use crate::calls::{LARGEST_ANSWER, Retry, pages};
use crate::client::Client;
use crate::error::Result;
use crate::link::Wire;
use crate::model::Metadata;

impl Client {
    /// Reads one group. A group that was never joined is an empty group, not an error.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn get_group(&self, name: &str) -> Result<Group> {
        let message = v1::GetGroupRequest { namespace: self.namespace().to_owned(), group: name.to_owned() };
        let call = async |wire, request| groups(wire).get_group(request).await;
        Ok(self.call(&message, call).await?.group.unwrap_or_default().into())
    }

    /// The groups that have members or a config and whose names begin with `prefix` (empty: all), in byte order of their
    /// names. Asked for page by page; each page is true at a revision of its own.
    pub fn list_groups(&self, prefix: impl Into<String>) -> impl Stream<Item = Result<Group>> + Send + Unpin + 'static {
        let prefix = prefix.into();
        pages(self.clone(), move |client, page_token| {
            let (namespace, prefix) = (client.namespace().to_owned(), prefix.clone());
            let message = v1::ListGroupsRequest { namespace, prefix, page_size: 0, page_token };
            async move {
                let call = async |wire, request| groups(wire).list_groups(request).await;
                let page = client.call(&message, call).await?;
                Ok((page.groups.into_iter().map(Group::from).collect(), page.next_page_token))
            }
        })
    }

    /// Sets the value that a group shares, or clears it with `None`, and answers the revision of the event that set it (0 if
    /// there is none). If `expected` is given: only if that is the revision of the config that is there; 0: only if there is
    /// none. Needs neither a session nor members.
    ///
    /// # Errors
    /// `Refused` with `ConfigConflict` if the config is not the expected one; `Unavailable`, after which it may or may not have
    /// taken effect.
    pub async fn configure_group(&self, name: &str, config: Option<&str>, expected: Option<u64>) -> Result<u64> {
        // Done twice, the second would find what the first has set, and not what is expected.
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

    /// Makes a session a member. Answers its number, and the group.
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

    /// Assigns on behalf of a leader what was computed from a group as it was.
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
