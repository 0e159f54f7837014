//! Groups: the membership of a program.

mod membership;

use std::convert::Infallible;

use tenure_proto::v1;
use tokio::time;

pub use self::membership::{Membership, Standing};
use crate::backoff::Backoff;
use crate::declare::{Attempt, Target};
use crate::error::{Error, Result};
use crate::options::{SessionOptions, session_setters};
use crate::session::Session;
use crate::{Assignments, Metadata};

/// How to join a group. Made by [`Client::group`](crate::Client::group).
///
/// ```no_run
/// # async fn example(client: tenure_client::Client) -> tenure_client::Result<()> {
/// use std::time::Duration;
///
/// // The leader divides the group's config, a number, among the members; each uses its share.
/// let group = client.group("throughput").ttl(Duration::from_secs(2)).owner("worker-1");
/// group
///     .take_part(
///         |group| {
///             let total: u64 = group.config.as_deref().unwrap_or_default().parse().unwrap_or_default();
///             let share = total / group.members.len() as u64;
///             group.assign(|_, _| share.to_string())
///         },
///         |standing| println!("my share: {:?}", standing.assignment()),
///     )
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is requested until this is awaited by join or take_part"]
pub struct GroupRequest {
    target: Target,
    membership: v1::DeclaredMembership,
}

impl GroupRequest {
    pub(crate) fn new(target: Target, group: String) -> Self {
        Self { target, membership: v1::DeclaredMembership { group, ..v1::DeclaredMembership::default() } }
    }

    session_setters!(target);

    /// Joins as a member of this session, which must be one of the client's, instead of a session of its own: all holds
    /// and memberships of the session end together.
    pub fn in_session(mut self, session: &Session) -> Self {
        self.target.session = Some(session.clone());
        self
    }

    /// The options of the session that is opened for this request. No effect on a request in an existing session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.target.options = options;
        self
    }

    /// A free label on the membership, such as its capacity. All labels together: at most 4096 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.membership.metadata.insert(key.into(), value.into());
        self
    }

    /// All labels of the membership.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.membership.metadata = metadata;
        self
    }

    /// Joins the group. A session joins a group once: `Refused` with `MembershipOverlap` if it is a member already.
    ///
    /// Any member may become the leader, and while a leader assigns nothing, no member has an assignment: run
    /// [`Membership::lead`], unless the group uses no assignments.
    ///
    /// # Errors
    /// `Refused` (a limit is reached, ...), `Lost` if the session is, `Unavailable`.
    pub async fn join(&self) -> Result<Membership> {
        let memberships = vec![self.membership.clone()];
        let declaration = v1::Declaration { memberships, ..v1::Declaration::default() };
        match self.target.obtain(declaration, None, Some(time::Duration::ZERO)).await? {
            Attempt::Acquired((part, number)) => Membership::begin(part, &self.membership.group, number).await,
            Attempt::Busy(_) => Err(Error::Unavailable("the membership did not begin".to_owned())),
        }
    }

    /// Joins the group and remains in it. While this member leads, it computes the assignments with `divide`, each time
    /// that members or config have changed. Calls `on_change` with the member's standing, at once and after each
    /// change. When the membership is lost, calls `on_change` with the loss, and joins again, as a new member.
    ///
    /// Never returns `Ok`: drop the future to leave and stop. Both closures should be quick.
    ///
    /// # Errors
    /// Errors that a retry cannot fix: `Invalid`, `Closed`, the loss of a session that this request was given, and
    /// refusals other than those of a temporary outage, such as assignments that do not fit the members.
    pub async fn take_part(
        &self,
        mut divide: impl FnMut(&v1::Group) -> Assignments,
        mut on_change: impl FnMut(&Standing),
    ) -> Result<Infallible> {
        let (mut backoff, group) = (Backoff::of_roles(), &self.membership.group);
        loop {
            let membership = match self.join().await {
                Ok(membership) => membership,
                Err(error) if self.may_join_later(&error) => {
                    tracing::warn!(group, %error, "did not join, and tries again");
                    time::sleep(backoff.next_pause()).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            backoff.reset();
            tracing::info!(group, member = membership.number(), "joined");
            let following = async {
                let mut standings = membership.standings();
                loop {
                    let standing = standings.borrow_and_update().clone();
                    on_change(&standing);
                    if standing.lost.is_some() || standings.changed().await.is_err() {
                        return standing.lost;
                    }
                }
            };
            let leading = async {
                match membership.lead(&mut divide).await {
                    // `following` reports the loss.
                    Err(Error::Lost(_)) => std::future::pending().await,
                    Err(error) => error,
                    Ok(never) => match never {},
                }
            };
            let lost = tokio::select! {
                biased;
                lost = following => lost,
                error = leading => return Err(error),
            };
            tracing::warn!(group, member = membership.number(), "the membership is lost");
            if let (Some(_), Some(reason)) = (&self.target.session, lost) {
                return Err(Error::Lost(reason));
            }
        }
    }

    fn may_join_later(&self, error: &Error) -> bool {
        let gone = [Some(v1::ErrorReason::SessionNotFound), Some(v1::ErrorReason::SessionEnded)];
        let is_lost = matches!(error, Error::Lost(_)) || gone.contains(&error.reason());
        error.is_transient() || (is_lost && self.target.session.is_none())
    }
}
