//! Groups: the membership of a program, and the calls for it.

mod follow;
mod membership;
mod standing;

use std::convert::Infallible;
use std::time::Duration;

use tokio::time;

pub use self::membership::Membership;
pub use self::standing::Standing;
use crate::backoff::Backoff;
use crate::connection::{Connection, Target};
use crate::error::{Error, Result};
use crate::model::{Assignments, Group, Metadata};
use crate::options::SessionOptions;
use crate::session::Session;

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
#[must_use = "nothing is asked until this is awaited by join or take_part"]
pub struct GroupRequest {
    connection: Connection,
    name: String,
    /// `None`: one is opened with `options`.
    session: Option<Session>,
    options: SessionOptions,
    metadata: Metadata,
}

impl GroupRequest {
    pub(crate) fn new(connection: Connection, name: String) -> Self {
        Self { connection, name, session: None, options: SessionOptions::default(), metadata: Metadata::new() }
    }

    /// Joins as a member of this session, which must be one of the client's, instead of a session of its own: all holds
    /// and memberships of the session end together.
    pub fn in_session(self, session: &Session) -> Self {
        Self { session: Some(session.clone()), ..self }
    }

    /// The options of the session that is opened for this request. No effect on a request in an existing session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// The TTL of the session that is opened for this request: how long this member remains in the group after its last
    /// renewal. No effect on a request in an existing session.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// The owner label of the session that is opened for this request. No effect on a request in an existing session.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.options.owner = owner.into();
        self
    }

    /// A free label on the membership, such as its capacity. All labels together: at most 4096 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// All labels of the membership.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
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
        let own = Target::Own(&self.options);
        let target = self.session.as_ref().map_or(own, |session| Target::Session(session.handle()));
        let (handle, number) = self.connection.join(target, &self.name, &self.metadata).await?;
        Membership::begin(handle, self.name.clone(), number).await
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
        mut divide: impl FnMut(&Group) -> Assignments,
        mut on_change: impl FnMut(&Standing),
    ) -> Result<Infallible> {
        let mut backoff = Backoff::of_roles();
        loop {
            let membership = match self.join().await {
                Ok(membership) => membership,
                Err(error) if self.may_join_later(&error) => {
                    tracing::warn!(group = self.name, %error, "did not join, and tries again");
                    time::sleep(backoff.next_pause()).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            backoff.reset();
            tracing::info!(group = self.name, member = membership.number(), "joined");
            let following = async {
                let mut standings = membership.standings();
                loop {
                    let standing = standings.borrow_and_update().clone();
                    on_change(&standing);
                    if standing.lost.is_some() || standings.changed().await.is_err() {
                        return;
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
            tokio::select! {
                biased;
                () = following => {}
                error = leading => return Err(error),
            }
            tracing::warn!(group = self.name, member = membership.number(), "the membership is lost");
            if self.session.is_some()
                && let Some(reason) = membership.standing().lost
            {
                return Err(Error::Lost(reason));
            }
        }
    }

    fn may_join_later(&self, error: &Error) -> bool {
        let is_lost = matches!(error, Error::Lost(_)) || error.is_session_gone();
        error.is_transient() || (is_lost && self.session.is_none())
    }
}
