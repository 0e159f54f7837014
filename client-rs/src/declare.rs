//! Opens sessions, makes claims and memberships, and waits for what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::clock::{self, Moment};
use crate::connection::Connection;
use crate::error::{Error, LostReason, Result};
use crate::options::{SessionOptions, session_setters};
use crate::presence::Presence;
use crate::progress::Progress;
use crate::protocol::{End, Status};
use crate::session::Session;

/// The upper bound of a wait: clocks cannot represent all durations.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Where claims and memberships are made.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) connection: Connection,
    /// `None`: each in a session of its own.
    pub(crate) session: Option<Session>,
    /// The options of that session.
    pub(crate) options: SessionOptions,
}

/// A claim or a membership, in a session that it keeps open. Dropping it withdraws it, in the background.
#[derive(Debug)]
pub(crate) struct Part {
    number: u64,
    pub(crate) presence: Arc<Presence>,
    pub(crate) session: Session,
}

/// The outcome of a request that need not wait.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each acquire, and it is soon taken apart")]
pub enum Attempt<T> {
    /// The locks are held; or the body has run under them.
    Acquired(T),
    /// Another claim holds the locks, or is ahead in the queue.
    Busy(v1::BusyState),
}

impl<T> Attempt<T> {
    /// What was acquired, if it was.
    pub fn acquired(self) -> Option<T> {
        if let Self::Acquired(acquired) = self { Some(acquired) } else { None }
    }
}

impl Part {
    /// Withdraws it, and returns when the server has ended it. A session that was opened for it is closed.
    ///
    /// # Errors
    /// `Lost` if it had been lost before.
    pub(crate) async fn end(self) -> Result<()> {
        if let Some(reason) = self.presence.withdraw() {
            return Err(Error::Lost(reason));
        }
        let (presence, connection) = (Arc::clone(&self.presence), self.session.connection().clone());
        drop(self);
        match connection.end(&presence).await? {
            End::Withdrawn => Ok(()),
            End::Lost(reason) => Err(Error::Lost(reason)),
            End::Busy(_) | End::Rejected(_) => Err(Error::Lost(LostReason::Forgotten)),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.presence.withdraw();
        self.session.connection().change(|table, now| table.withdraw(self.number, now));
    }
}

impl Target {
    session_setters!(options);

    pub(crate) fn new(connection: Connection, session: Option<Session>) -> Self {
        Self { connection, session, options: SessionOptions::default() }
    }

    /// Opens a session.
    pub(crate) async fn open(&self) -> Result<Session> {
        let reply = Some(clock::now().after(self.connection.call_timeout));
        let mut backoff = Backoff::of_commands();
        loop {
            let (session, _) = self.declare_session(None, None)?;
            match self.settle(&session, session.presence(), None, reply).await {
                Ok(_) => return Ok(session),
                Err(error) => allow_another(error, &mut backoff, reply).await?,
            }
        }
    }

    /// Makes a claim or a membership, and waits for it, at most so long (`None`: for as long as it takes). Returns it with
    /// the token or the member's number. The renewal of its session depends on the progress.
    pub(crate) async fn obtain(
        &self,
        declaration: v1::Declaration,
        progress: Option<Progress>,
        wait: Option<Duration>,
    ) -> Result<Attempt<(Part, u64)>> {
        let after = |time: Duration| clock::now().after(time.min(LONGEST_WAIT));
        let until = wait.map(after);
        // In a session that exists, a wait without an end may also wait for a server.
        let has_limit = wait.is_some() || self.session.is_none();
        let reply = has_limit.then(|| after(wait.unwrap_or_default().saturating_add(self.connection.call_timeout)));
        let mut backoff = Backoff::of_commands();
        loop {
            let part = self.declare(declaration.clone(), progress.clone())?;
            match self.settle(&part.session, &part.presence, until, reply).await {
                Ok(Attempt::Acquired(granted)) => return Ok(Attempt::Acquired((part, granted))),
                Ok(Attempt::Busy(busy)) => {
                    let presence = Arc::clone(&part.presence);
                    drop(part);
                    // Not needed for the outcome: but when the caller reads the queue, it has left.
                    let _ = self.connection.end(&presence).await;
                    return Ok(Attempt::Busy(busy));
                }
                Err(error) => allow_another(error, &mut backoff, reply).await?,
            }
        }
    }

    fn declare(&self, mut declaration: v1::Declaration, progress: Option<Progress>) -> Result<Part> {
        let Some(session) = &self.session else {
            return self.declare_session(Some(declaration), progress)?.1.ok_or(Error::Closed);
        };
        if let Some(reason) = session.presence().lost_reason() {
            return Err(Error::Lost(reason));
        }
        declaration.session = session.number();
        let of_session = Arc::clone(session.presence());
        let (number, presence) = self.connection.change(|table, now| {
            let number = table.declare(declaration, now);
            (number, table.follow(number, session.number(), Some(of_session), progress))
        });
        Ok(Part { number, presence, session: session.clone() })
    }

    fn declare_session(
        &self,
        with: Option<v1::Declaration>,
        progress: Option<Progress>,
    ) -> Result<(Session, Option<Part>)> {
        let open = self.options.to_declare()?;
        let declared = self.connection.change(|table, now| {
            let has_part = with.is_some();
            let declaration = v1::Declaration { open: Some(open.clone()), ..with.unwrap_or_default() };
            let number = (!table.is_closing()).then(|| table.declare(declaration, now))?;
            let of_session = table.follow(number, number, None, self.options.progress.clone());
            let part = has_part.then(|| table.follow(number + 1, number, Some(Arc::clone(&of_session)), progress));
            Some((number, of_session, part))
        });
        let (number, presence, part) = declared.ok_or(Error::Closed)?;
        let session = Session::new(number, presence, open, self.connection.clone());
        let part = part.map(|presence| Part { number: number + 1, presence, session: session.clone() });
        Ok((session, part))
    }

    /// Waits until it is granted, or open, or the locks are not free. If it is in the queue, until `until` at most; if
    /// nothing is known of it, until `reply`.
    async fn settle(
        &self,
        session: &Session,
        presence: &Presence,
        until: Option<Moment>,
        reply: Option<Moment>,
    ) -> Result<Attempt<u64>> {
        // If its session was not opened, it has the session's end.
        let latest = || match session.presence().status() {
            unopened @ Status::Ended(End::Busy(_) | End::Rejected(_)) => unopened,
            _ => presence.status(),
        };
        let wait_until =
            |deadline: Option<Moment>| Err(deadline.map_or(presence.until(), |at| at.min(presence.until())));
        let settled = presence.wait(|now| {
            let is_over = |deadline: Option<Moment>| deadline.is_some_and(|deadline| deadline <= now);
            // Before the status, which says why if nothing was made.
            let lost = presence.lost_reason();
            match (latest(), lost) {
                (Status::Open(_), _) => Ok(Ok(Attempt::Acquired(0))),
                (Status::Ended(End::Busy(busy)), _) => Ok(Ok(Attempt::Busy(busy))),
                (Status::Ended(End::Rejected(refusal)), _) => Ok(Err(Error::Refused(refusal))),
                (Status::Ended(End::Lost(LostReason::Ended(ended))), _) if session.is_valid() => {
                    Ok(Err(claim_ended(session.id(), &ended)))
                }
                (_, Some(reason)) => Ok(Err(Error::Lost(reason))),
                (Status::Held { token: granted, .. } | Status::Joined(granted), _) if presence.validity().is_some() => {
                    Ok(Ok(Attempt::Acquired(granted)))
                }
                (Status::Waiting(busy), _) if is_over(until) => Ok(Ok(Attempt::Busy(busy))),
                (Status::Waiting(_), _) => wait_until(until),
                _ if is_over(reply) => Ok(Err(self.connection.unanswered())),
                _ => wait_until(reply),
            }
        });
        settled.await
    }
}

/// Whether to make another attempt after this error, if it was a temporary rejection: after a pause.
///
/// # Errors
/// The error itself otherwise.
async fn allow_another(error: Error, backoff: &mut Backoff, reply: Option<Moment>) -> Result<()> {
    let pause = backoff.next_pause();
    // A claim ends if the client reconnects too late; the caller still waits for the locks.
    let is_late = |refusal: &v1::Refusal| {
        refusal.error_reason() == v1::ErrorReason::ClaimEnded
            && refusal.end_reason() == Some(v1::EndReason::Disconnected)
    };
    let is_temporary = matches!(&error, Error::Refused(refusal) if refusal.is_transient() || is_late(refusal));
    if !is_temporary || reply.is_some_and(|reply| clock::now().after(pause) >= reply) {
        return Err(error);
    }
    sleep(pause).await;
    Ok(())
}

/// The error of a claim that ended while it waited.
fn claim_ended(session_id: &str, ended: &v1::EndedState) -> Error {
    let (reason, word) = ("CLAIM_ENDED".to_owned(), ended.reason().word());
    let facts = [("session_id", session_id), ("end_reason", word)];
    let metadata = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let message = format!("the claim ended while it waited: {word}");
    Error::Refused(Box::new(v1::Refusal { reason, message, metadata, ..v1::Refusal::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_that_ended_while_it_waited_is_an_error_with_the_reason() {
        let ended = v1::EndedState { reason: v1::EndReason::Evicted.into(), ..v1::EndedState::default() };
        let Error::Refused(refusal) = claim_ended("worker-7", &ended) else { panic!("not refused") };
        assert_eq!(refusal.error_reason(), v1::ErrorReason::ClaimEnded);
        assert_eq!(refusal.end_reason(), Some(v1::EndReason::Evicted));
        assert_eq!(refusal.metadata["session_id"], "worker-7");
    }

    #[tokio::test]
    async fn another_attempt_is_made_after_temporary_rejections_only() {
        let ended = |reason: v1::EndReason| {
            claim_ended("s", &v1::EndedState { reason: reason.into(), ..v1::EndedState::default() })
        };
        let refused =
            |reason: &str| Error::Refused(Box::new(v1::Refusal { reason: reason.into(), ..v1::Refusal::default() }));
        let is_repeated = async |error, reply| allow_another(error, &mut Backoff::of_commands(), reply).await.is_ok();
        assert!(is_repeated(refused("STORE_UNAVAILABLE"), None).await);
        assert!(is_repeated(ended(v1::EndReason::Disconnected), None).await);
        assert!(!is_repeated(ended(v1::EndReason::Evicted), None).await);
        assert!(!is_repeated(refused("SESSION_ENDED"), None).await);
        assert!(!is_repeated(refused("STORE_UNAVAILABLE"), Some(clock::now())).await, "it is too late");
    }
}
