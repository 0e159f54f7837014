//! Implements the group calls: join, leave, configure, assign, get and list.

use std::ops::ControlFlow;

use prost::Message;
use tenure_core::{Basis, Command, GroupCommand, GroupOutcome, Opening, Outcome, Rejection, Revision, no_labels};
use tenure_proto::v1;
use tonic::Status;

use super::authorize::{Admitted, Principal};
use super::pieces::Piece;
use super::sessions::renew_if_here;
use super::status::rejected;
use super::{Api, convert, in_time, page_token, session_or_new, validate};
use crate::sequencer::Namespace;

impl Api {
    pub(super) async fn join_group(
        &self,
        asked: Admitted<v1::JoinGroupRequest>,
    ) -> Result<v1::JoinGroupResponse, Status> {
        let (request, principal) = asked.into_parts();
        let group = validate::name("group", &request.group)?;
        let ttl = validate::ttl(request.ttl, self.0.ttl)?;
        let session = session_or_new(&request.session_id, ttl.is_some())?;
        let owner = validate::label("owner", &request.owner)?;
        let metadata = validate::metadata(request.metadata)?;
        let opened = validate::optional_revision("opened_revision", request.opened_revision)?;
        let opening = ttl.map(|ttl| Opening { ttl, owner, metadata: no_labels(), identity: None });
        let namespace = self.namespace(&principal, &request.namespace).await?;
        if opening.is_some() {
            self.check_stays()?;
            principal.check_owner(&namespace, &session)?;
            renew_if_here(&namespace, &session)?;
        }
        let home = self.node()?.id;
        let command = GroupCommand::Join { group, session: session.clone(), opening, home, opened, metadata };
        let (outcome, _) = decide(&namespace, &principal, command).await?;
        let GroupOutcome::Joined { member, group, ttl, revision } = outcome else { return Err(unknown()) };
        Ok(v1::JoinGroupResponse {
            member: member.0,
            session_id: session.to_string(),
            ttl: Some(convert::duration(ttl)),
            group: Some(convert::group(&group.name, Some(&group))),
            revision: revision.0,
        })
    }

    pub(super) async fn leave_group(
        &self,
        asked: Admitted<v1::LeaveGroupRequest>,
    ) -> Result<v1::LeaveGroupResponse, Status> {
        let (request, principal) = asked.into_parts();
        let group = validate::name("group", &request.group)?;
        let session = validate::session_id("session_id", &request.session_id)?;
        let member = validate::optional_revision("member", request.member)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let (_, revision) = decide(&namespace, &principal, GroupCommand::Leave { group, session, member }).await?;
        Ok(v1::LeaveGroupResponse { revision: revision.0 })
    }

    pub(super) async fn configure_group(
        &self,
        asked: Admitted<v1::ConfigureGroupRequest>,
    ) -> Result<v1::ConfigureGroupResponse, Status> {
        let (request, principal) = asked.into_parts();
        let group = validate::name("group", &request.group)?;
        let config = validate::config(request.config)?;
        let expected = request
            .expected_revision
            .map(|expected| validate::revision("expected_revision", expected, 0))
            .transpose()?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = GroupCommand::Configure { group, config, expected };
        let (GroupOutcome::Configured { config }, revision) = decide(&namespace, &principal, command).await? else {
            return Err(unknown());
        };
        Ok(v1::ConfigureGroupResponse { config_revision: config.0, revision: revision.0 })
    }

    pub(super) async fn assign_group(
        &self,
        asked: Admitted<v1::AssignGroupRequest>,
    ) -> Result<v1::AssignGroupResponse, Status> {
        let (request, principal) = asked.into_parts();
        let group = validate::name("group", &request.group)?;
        let session = validate::session_id("session_id", &request.session_id)?;
        let token = validate::token(request.token)?;
        let basis = Basis {
            membership: validate::revision("membership_revision", request.membership_revision, 1)?,
            config: validate::revision("config_revision", request.config_revision, 0)?,
        };
        let assignments = validate::assignments(request.assignments)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = GroupCommand::Assign { group, session, token, basis, assignments };
        let (GroupOutcome::Assigned { revision: assigned }, revision) = decide(&namespace, &principal, command).await?
        else {
            return Err(unknown());
        };
        Ok(v1::AssignGroupResponse { assignments_revision: assigned.0, revision: revision.0 })
    }

    pub(super) async fn get_group(&self, asked: Admitted<v1::GetGroupRequest>) -> Result<v1::GetGroupResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("group", &request.group)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let asked = name.clone();
        let read = namespace.read(move |table| (table.group(&asked).cloned(), table.revision()));
        let (group, revision) = in_time(read).await?;
        let group = convert::group(&name, group.as_deref());
        Ok(v1::GetGroupResponse { group: Some(group), revision: revision.0 })
    }

    pub(super) async fn list_groups(
        &self,
        asked: Admitted<v1::ListGroupsRequest>,
    ) -> Result<v1::ListGroupsResponse, Status> {
        let (request, principal) = asked.into_parts();
        validate::prefix(&request.prefix)?;
        let size = validate::page_size(request.page_size)?;
        let scope = format!("groups/{}/{}", validate::namespace(&request.namespace)?, request.prefix);
        let after: Option<String> = page_token::after(&scope, &request.page_token)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let pieces = principal.readable(namespace.name(), &request.prefix);
        let read = namespace.read(move |table| {
            let of = |piece| {
                table.groups_after(Piece::start(piece), after.as_deref()).take_while(|group| piece.has(&group.name))
            };
            let groups = pieces.iter().flat_map(of).take(size + 1);
            (groups.cloned().collect::<Vec<_>>(), table.revision().0)
        });
        let (found, revision) = in_time(read).await?;
        let (groups, last) = page_token::fill(found.iter(), size, v1::Group::encoded_len, |group| {
            ControlFlow::Continue(Some(convert::group(&group.name, Some(group))))
        });
        let next_page_token = page_token::token(&scope, last.map(|last| &last.name));
        Ok(v1::ListGroupsResponse { groups, next_page_token, revision })
    }
}

async fn decide(
    namespace: &Namespace,
    principal: &Principal,
    command: GroupCommand,
) -> Result<(GroupOutcome, Revision), Status> {
    let command = principal.request(Command::Group(command));
    let decided = in_time(namespace.decide(command)).await?;
    match decided.outcome {
        Outcome::Group(outcome) => Ok((outcome, decided.revision)),
        _ => Err(unknown()),
    }
}

/// The error for an outcome that does not match the command.
fn unknown() -> Status {
    rejected(Rejection::OutcomeUnknown)
}
