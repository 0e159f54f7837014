//! Requests about groups.

use std::collections::BTreeMap;

use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    AssignGroupRequest, AssignGroupResponse, CloseSessionRequest, ConfigureGroupRequest, GetGroupRequest, Group,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
};
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::watch::service::Service;

/// A client of the service.
#[derive(Clone)]
pub struct GroupClient(Channel);

impl GroupClient {
    pub fn at(service: &Service) -> Self {
        Self(service.channel.clone())
    }

    pub fn groups(&self) -> GroupServiceClient<Channel> {
        GroupServiceClient::new(self.0.clone())
    }

    pub async fn join(&self, group: &str, session: &str) -> JoinGroupResponse {
        self.groups().join_group(join_request(group, session)).await.expect("allowed").into_inner()
    }

    pub async fn leave(&self, group: &str, session: &str) {
        let (group, session_id) = (group.to_owned(), session.to_owned());
        let request = LeaveGroupRequest { group, session_id, ..LeaveGroupRequest::default() };
        self.groups().leave_group(request).await.expect("a member");
    }

    pub async fn configure(&self, group: &str, config: Option<&str>) -> u64 {
        let config = config.map(ToOwned::to_owned);
        let request = ConfigureGroupRequest { group: group.to_owned(), config, ..ConfigureGroupRequest::default() };
        self.groups().configure_group(request).await.expect("allowed").into_inner().config_revision
    }

    /// Assigns the same value to all members of `group`, a snapshot taken earlier.
    pub async fn assign(&self, group: &Group, value: &str) -> Result<AssignGroupResponse, Status> {
        Ok(self.groups().assign_group(assign_request(group, value)).await?.into_inner())
    }

    pub async fn get(&self, group: &str) -> Group {
        let request = GetGroupRequest { group: group.to_owned(), ..GetGroupRequest::default() };
        self.groups().get_group(request).await.expect("readable").into_inner().group.expect("a group")
    }

    pub async fn close(&self, session: &str) {
        let request = CloseSessionRequest { session_id: session.to_owned(), ..CloseSessionRequest::default() };
        SessionServiceClient::new(self.0.clone()).close_session(request).await.expect("open");
    }
}

pub fn join_request(group: &str, session: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group: group.to_owned(),
        session_id: session.to_owned(),
        ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
        owner: format!("owner of {session}"),
        ..JoinGroupRequest::default()
    }
}

/// The assignment by the leader of `group`, a snapshot taken earlier.
pub fn assign_request(group: &Group, value: &str) -> AssignGroupRequest {
    let leader = group.leader.clone().expect("a leader");
    let assign = |member: &tenure_proto::v1::GroupMember| (member.number, value.to_owned());
    AssignGroupRequest {
        group: group.name.clone(),
        session_id: leader.session_id,
        token: leader.token,
        membership_revision: group.membership_revision,
        config_revision: group.config_revision,
        assignments: group.members.iter().map(assign).collect(),
        ..AssignGroupRequest::default()
    }
}

/// The members' sessions and assignments, in order of joining.
pub fn assignments_of(group: &Group) -> Vec<(&str, Option<&str>)> {
    group.members.iter().map(|member| (member.session_id.as_str(), member.assignment.as_deref())).collect()
}

/// A rejection: code, reason and facts.
pub fn refusal(status: &Status) -> (Code, String, BTreeMap<String, String>) {
    let info = status.get_error_details().error_info().cloned().expect("details");
    (status.code(), info.reason, info.metadata.into_iter().collect())
}

pub fn facts(facts: &[(&str, &str)]) -> BTreeMap<String, String> {
    facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
