//! A membership: from joining to leaving or its loss.

use std::convert::Infallible;
use std::sync::Arc;

use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;
use tokio::sync::watch;
use tokio::time;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};

use crate::Assignments;
use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::declare::Part;
use crate::error::{Error, LostReason, Result};
use crate::presence::Presence;
use crate::session::Session;
use crate::watch::Watch;

/// A membership in a group. Dropping it leaves the group in the background; [`leave`](Self::leave) also waits for that.
#[derive(Debug)]
pub struct Membership {
    part: Part,
    number: u64,
    standings: watch::Receiver<Standing>,
}

/// The standing of a member in its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The member's number.
    pub number: u64,
    /// The last known state of the group.
    pub group: Arc<v1::Group>,
    /// Why the membership is lost, if it is. The group may continue without this member.
    pub lost: Option<LostReason>,
}

impl Standing {
    /// The assignment of this member. `None` without one, and after a loss.
    pub fn assignment(&self) -> Option<&str> {
        self.group.member(self.number).filter(|_| self.lost.is_none())?.assignment.as_deref()
    }

    /// Whether the assignment was computed from the current members and config. If not, the leader has yet to compute
    /// it.
    pub fn is_current(&self) -> bool {
        self.lost.is_none() && self.group.assignments_current
    }

    /// Whether this member leads.
    pub fn leads(&self) -> bool {
        self.token().is_some()
    }

    /// The token by which this member leads, if it does.
    pub fn token(&self) -> Option<u64> {
        let leader = self.group.leader.as_ref().filter(|_| self.lost.is_none());
        leader.filter(|leader| leader.member == self.number).map(|leader| leader.token)
    }
}

impl Membership {
    /// Follows the group of a membership that was made.
    pub(super) async fn begin(part: Part, group: &str, number: u64) -> Result<Self> {
        let connection = part.session.connection();
        let group = connection.get_group(group).await?.into();
        let (standing, standings) = watch::channel(Standing { number, group, lost: None });
        connection.runtime.spawn(follow(connection.clone(), Arc::clone(&part.presence), standing));
        Ok(Self { part, number, standings })
    }

    /// The group's name.
    pub fn group_name(&self) -> String {
        self.standings.borrow().group.name.clone()
    }

    /// This member's number: rises in order of joining.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The session that is the member.
    pub fn session(&self) -> &Session {
        &self.part.session
    }

    /// The standing of this member. Whether the membership has expired is decided by the clock at this moment: a
    /// process that was paused for too long sees the loss when it resumes.
    pub fn standing(&self) -> Standing {
        let standing = self.standings.borrow().clone();
        Standing { lost: standing.lost.clone().or_else(|| self.part.presence.lost_reason()), ..standing }
    }

    /// The standing of this member, and each change of it: members, leader, config, assignments, and the loss, after
    /// which nothing changes. A slow reader sees only the latest.
    pub fn standings(&self) -> watch::Receiver<Standing> {
        self.standings.clone()
    }

    /// The assignment of this member, now and after each change; `None` without one. Ends with the membership.
    pub fn assignments(&self) -> impl Stream<Item = Option<String>> + Send + Unpin + 'static {
        let mut last = None;
        let standings = WatchStream::new(self.standings.clone()).take_while(|standing| standing.lost.is_none());
        Box::pin(standings.filter_map(move |standing| {
            let assignment = Some(standing.assignment().map(ToOwned::to_owned));
            (last != assignment).then(|| last.insert(assignment.flatten()).clone())
        }))
    }

    /// Waits until the membership is lost: before the others could be notified of it, or as soon as the server reports
    /// it.
    pub async fn lost(&self) -> LostReason {
        self.part.presence.lost().await
    }

    /// Assigns something to every member, as the leader of this state of the group: `group` is from a [`Standing`] in
    /// which this member leads.
    ///
    /// # Errors
    /// `Refused` with `StaleAssignment` if the group has changed since, with `NotLeader` if this member does not lead,
    /// with `InvalidField` if the assignments do not fit the members; `Lost`; `Unavailable`.
    pub async fn assign(&self, group: &v1::Group, assignments: Assignments) -> Result<()> {
        if let Some(reason) = self.part.presence.lost_reason() {
            return Err(Error::Lost(reason));
        }
        let leader = group.leader.as_ref().filter(|leader| leader.member == self.number);
        let token = leader.ok_or_else(|| Error::invalid("group", "this member does not lead it"))?.token;
        let request = v1::AssignGroupRequest {
            group: group.name.clone(),
            session_id: self.session().id().to_owned(),
            token,
            membership_revision: group.membership_revision,
            config_revision: group.config_revision,
            assignments,
            ..Default::default()
        };
        self.session().connection().call(request).await.map(drop)
    }

    /// While this member leads: computes the assignments with `divide`, and sends them, each time that members or
    /// config have changed. `divide` should be quick; [`Group::assign`](v1::Group::assign) returns assignments that fit.
    ///
    /// Never returns `Ok`: drop the future to stop.
    ///
    /// # Errors
    /// `Lost` when the membership is; refusals other than those of a temporary outage, such as `InvalidField` if the
    /// assignments do not fit the members.
    pub async fn lead(&self, mut divide: impl FnMut(&v1::Group) -> Assignments) -> Result<Infallible> {
        let (mut standings, mut backoff) = (self.standings.clone(), Backoff::of_roles());
        loop {
            let standing = standings.borrow_and_update().clone();
            if let Some(reason) = standing.lost {
                return Err(Error::Lost(reason));
            }
            if standing.leads() && !standing.group.assignments_current {
                let assigned = tokio::select! {
                    biased;
                    reason = self.lost() => Err(Error::Lost(reason)),
                    assigned = self.assign(&standing.group, divide(&standing.group)) => assigned,
                };
                match assigned {
                    Ok(()) => backoff.reset(),
                    // The group has changed meanwhile: the next standing shows it.
                    Err(error) if is_overtaken(&error) => {}
                    Err(error) if error.is_transient() => {
                        tracing::warn!(group = standing.group.name, %error, "did not assign, and tries again");
                        time::sleep(backoff.next_pause()).await;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            standings.changed().await.map_err(|_| Error::Closed)?;
        }
    }

    /// Leaves the group, and returns when the server has recorded it. A session that was opened for the membership is
    /// closed.
    ///
    /// # Errors
    /// `Lost` if the membership had ended before; `Unavailable` if no server answered in time: it then ends by the
    /// session's TTL, or with the session in which it was made.
    pub async fn leave(self) -> Result<()> {
        self.part.end().await
    }
}

/// Whether the group changed before the assignments arrived.
fn is_overtaken(error: &Error) -> bool {
    matches!(error.reason(), Some(v1::ErrorReason::StaleAssignment | v1::ErrorReason::NotLeader))
}

/// Keeps a member's standing up to date, until the membership is lost or all receivers are dropped.
async fn follow(connection: Connection, presence: Arc<Presence>, standing: watch::Sender<Standing>) {
    let lost = tokio::select! {
        biased;
        () = standing.closed() => return,
        reason = presence.lost() => reason,
        () = update(&connection, &standing) => LostReason::Closed,
    };
    standing.send_modify(|standing| standing.lost = Some(lost));
}

/// Updates the group by a watch, until the client is closed.
async fn update(connection: &Connection, standing: &watch::Sender<Standing>) {
    let name = standing.borrow().group.name.clone();
    let mut backoff = Backoff::of_roles();
    while !connection.is_closed() {
        let groups = vec![name.clone()];
        let mut watch = Watch::start(connection, v1::WatchRequest { groups, ..v1::WatchRequest::default() });
        while let Some(item) = watch.next().await {
            let groups = match item.map(|response| response.kind) {
                Ok(Some(Kind::Snapshot(snapshot))) => snapshot.groups,
                Ok(Some(Kind::Events(events))) => events.groups,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(group = name, %error, "the group cannot be watched");
                    break;
                }
            };
            backoff.reset();
            for group in groups.into_iter().filter(|group| group.name == name) {
                standing.send_if_modified(|standing| {
                    // A state without this member is from before it joined, or its end is about to be reported.
                    let is_new = *standing.group != group && group.member(standing.number).is_some();
                    if is_new {
                        standing.group = Arc::new(group);
                    }
                    is_new
                });
            }
        }
        time::sleep(backoff.next_pause()).await;
    }
}
