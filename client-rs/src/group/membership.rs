//! A membership: from joining to leaving or its loss.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};

use super::follow::follow;
use super::standing::Standing;
use crate::backoff::Backoff;
use crate::connection::PartHandle;
use crate::error::{Error, LostReason, Reason, Result};
use crate::model::{Assignments, Group};
use crate::session::Session;

/// A membership in a group. Dropping it leaves the group in the background; [`leave`](Self::leave) also waits for that.
#[derive(Debug)]
pub struct Membership {
    /// Dropped before the handle, which is then the last that keeps a session of its own.
    session: Session,
    handle: PartHandle,
    name: String,
    number: u64,
    standings: watch::Receiver<Standing>,
}

impl Membership {
    /// Follows the group of a membership that was made.
    pub(super) async fn begin(handle: PartHandle, name: String, number: u64) -> Result<Self> {
        let session = Session::of(&handle.session);
        let connection = session.connection();
        let group = connection.get_group(&name).await?;
        let (standing, standings) = watch::channel(Standing { number, group: Arc::new(group), lost: None });
        let presence = Arc::clone(&handle.session.presence);
        connection.runtime().spawn(follow(connection.clone(), presence, handle.latest(), standing));
        Ok(Self { handle, session, name, number, standings })
    }

    /// The group's name.
    #[must_use]
    pub fn group_name(&self) -> &str {
        &self.name
    }

    /// This member's number: rises in order of joining.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The session that is the member.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The standing of this member. Whether the membership has expired is decided by the clock at this moment: a
    /// process that was paused for too long sees the loss when it resumes.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let mut standing = self.standings.borrow().clone();
        if standing.lost.is_none() {
            standing.lost = self.session.lost_reason();
        }
        standing
    }

    /// The standing of this member, and each change of it: members, leader, config, assignments, and the loss, after
    /// which nothing changes. A slow reader sees only the latest.
    #[must_use]
    pub fn standings(&self) -> watch::Receiver<Standing> {
        self.standings.clone()
    }

    /// The assignment of this member, now and after each change; `None` without one. Ends with the membership.
    pub fn assignments(&self) -> impl Stream<Item = Option<String>> + Send + Unpin + 'static {
        let mut last: Option<Option<String>> = None;
        let standings = WatchStream::new(self.standings.clone()).take_while(|standing| standing.lost.is_none());
        Box::pin(standings.filter_map(move |standing| {
            let assignment = Some(standing.assignment().map(ToOwned::to_owned));
            if last == assignment {
                return None;
            }
            last.clone_from(&assignment);
            assignment
        }))
    }

    /// Waits until the membership is lost: before the others could be notified of it, or as soon as the server reports
    /// it.
    pub async fn lost(&self) -> LostReason {
        let mut standings = self.standings.clone();
        let gone = standings.wait_for(|standing| standing.lost.is_some()).await;
        gone.ok().and_then(|standing| standing.lost.clone()).unwrap_or(LostReason::Closed)
    }

    /// Assigns something to every member, as the leader of this state of the group: `group` is from a [`Standing`] in
    /// which this member leads.
    ///
    /// # Errors
    /// `Refused` with `StaleAssignment` if the group has changed since, with `NotLeader` if this member does not lead,
    /// with `InvalidField` if the assignments do not fit the members; `Lost`; `Unavailable`.
    pub async fn assign(&self, group: &Group, assignments: Assignments) -> Result<()> {
        if let Some(reason) = self.standing().lost {
            return Err(Error::Lost(reason));
        }
        match group.leader.as_ref().filter(|leader| leader.member == self.number) {
            Some(leader) => self.session.connection().assign_group(group, leader, assignments).await,
            None => Err(Error::invalid("group", "this member does not lead it")),
        }
    }

    /// While this member leads: computes the assignments with `divide`, and sends them, each time that members or
    /// config have changed. `divide` should be quick; [`Group::assign`] returns assignments that fit.
    ///
    /// Never returns `Ok`: drop the future to stop.
    ///
    /// # Errors
    /// `Lost` when the membership is; refusals other than those of a temporary outage, such as `InvalidField` if the
    /// assignments do not fit the members.
    pub async fn lead(&self, mut divide: impl FnMut(&Group) -> Assignments) -> Result<Infallible> {
        let mut standings = self.standings.clone();
        let mut backoff = Backoff::of_roles();
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
                    // The next standing has the change.
                    Err(error) if is_overtaken(&error) => {
                        tracing::debug!(group = self.name, %error, "the group has changed meanwhile");
                    }
                    Err(error) if error.is_transient() => {
                        tracing::warn!(group = self.name, %error, "did not assign, and tries again");
                        time::sleep(backoff.next_pause()).await;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            if standings.changed().await.is_err() {
                return Err(Error::Closed);
            }
        }
    }

    /// Sets the group's config: see [`Client::configure_group`](crate::Client::configure_group).
    ///
    /// # Errors
    /// As [`Client::configure_group`](crate::Client::configure_group).
    pub async fn set_config(&self, config: Option<&str>, expected: Option<u64>) -> Result<u64> {
        self.session.connection().configure_group(&self.name, config, expected).await
    }

    /// Leaves the group, and returns when the server has recorded it. A session that was opened for the membership is
    /// closed.
    ///
    /// # Errors
    /// `Lost` if the membership had ended before; `Unavailable` if no server answered in time: it then ends by the
    /// session's TTL, or with the session in which it was made.
    pub async fn leave(self) -> Result<()> {
        let Self { handle, session, .. } = self;
        drop(session);
        handle.end().await
    }
}

/// Whether the group changed before the assignments arrived.
fn is_overtaken(error: &Error) -> bool {
    matches!(error.reason(), Some(Reason::StaleAssignment | Reason::NotLeader))
}
