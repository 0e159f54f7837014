//! What is held.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tracing::Instrument;

use crate::clock::{self, Moment};
use crate::convert::from_wire;
use crate::declare::Part;
use crate::error::{Error, LostReason, Result};
use crate::presence::Presence;
use crate::progress::Progress;
use crate::protocol::Status;
use crate::session::Session;
use crate::{Metadata, trace};

/// The part of the drain that is reserved for the release to reach the server in time: a fifth ...
const MARGIN_DIVISOR: u32 = 5;
/// ... but at least this ...
const MARGIN_MIN: Duration = Duration::from_millis(20);
/// ... and at most this.
const MARGIN_MAX: Duration = Duration::from_secs(1);

/// A view of what is held, to hand around: it shows whether the hold is valid but does not keep it.
#[derive(Clone, Debug)]
pub struct Hold {
    presence: Arc<Presence>,
    names: Arc<[String]>,
    token: u64,
    /// The progress of the work under the hold, if it is renewed only while there is some.
    progress: Option<Progress>,
}

/// A request to the holder to stop its work and hand over. It confirms by releasing; otherwise it keeps the lock.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferRequest {
    /// The request. Without an operator: a better candidate waits, and by the lock's settings it is handed the lock; or
    /// the client was moving to another server when the request arrived.
    pub pending: v1::PendingTransfer,
    stop_at: Moment,
}

impl Hold {
    /// The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before
    /// it in the namespace.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// The locks that are held, in byte order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the server cannot have ended the hold, decided by the clock at this moment. Once `false` it stays so. A
    /// program may still be paused right after the check: the token protects against that.
    pub fn is_valid(&self) -> bool {
        self.lost_reason().is_none()
    }

    /// Why it is lost, if it is.
    pub fn lost_reason(&self) -> Option<LostReason> {
        self.presence.lost_reason()
    }

    /// Waits until the server asks to hand the locks over: an operator's [`transfer`](crate::Client::transfer), or a
    /// better candidate that preempts. The work should then stop and release the locks, which confirms the handoff;
    /// otherwise the hold remains.
    pub async fn transfer_requested(&self) -> TransferRequest {
        self.presence.wait(|_| self.transfer_request().ok_or(Moment(Duration::MAX))).await
    }

    /// The present request, if there is one.
    pub fn transfer_request(&self) -> Option<TransferRequest> {
        let Status::Held { transfer: Some((pending, since)), .. } = self.presence.status() else { return None };
        let stop_at = stop_at(from_wire(pending.drain), since);
        Some(TransferRequest { pending, stop_at })
    }

    /// Reports progress of the work under the hold: see [`LockRequest::stall_after`](crate::LockRequest::stall_after),
    /// without which this has no effect. Cheap, takes no lock, and may be called from any thread.
    pub fn tick(&self) {
        self.progress.iter().for_each(Progress::tick);
    }

    /// Waits until the hold is lost or released: before the server could end the hold, or as soon as it reports the
    /// end.
    pub async fn lost(&self) -> LostReason {
        self.presence.lost().await
    }
}

impl TransferRequest {
    /// How long the work may continue, if the release is to reach the server in time. Zero when that has passed.
    pub fn remaining(&self) -> Duration {
        self.stop_at.since(clock::now())
    }

    /// Waits until the work must stop.
    pub async fn drained(&self) {
        while !self.remaining().is_zero() {
            tokio::time::sleep(self.remaining()).await;
        }
    }
}

fn stop_at(drain: Duration, since: Moment) -> Moment {
    since.after(drain.saturating_sub((drain / MARGIN_DIVISOR).clamp(MARGIN_MIN, MARGIN_MAX)))
}

/// Owns a hold. Dropping it releases the locks in the background; [`release`](Self::release) also waits for that.
///
/// A program that ends right after dropping a guard should release it instead (or close the client): the background
/// work needs the runtime for a moment.
#[derive(Debug)]
pub struct Guard {
    hold: Hold,
    part: Part,
}

impl Guard {
    pub(crate) fn new(part: Part, names: Vec<String>, token: u64, progress: Option<Progress>) -> Self {
        Self { hold: Hold { presence: Arc::clone(&part.presence), names: names.into(), token, progress }, part }
    }

    /// A view of the hold, to pass to tasks.
    pub fn hold(&self) -> Hold {
        self.hold.clone()
    }

    /// The session that holds it.
    pub fn session(&self) -> &Session {
        &self.part.session
    }

    /// Hands the locks over to a session that waits for them (`None`: to the first in the queue), in one step and
    /// without a gap in which they have no holder. Returns the next holder's token. The work must have stopped: from
    /// the call on, this hold is no longer valid, and if the handoff fails, the locks are released.
    ///
    /// # Errors
    /// `Lost` or `Refused` (with `TransferImpossible` if no waiter could hold next); `Unavailable`.
    pub async fn transfer_to(self, session_id_of_next: Option<&str>) -> Result<u64> {
        if let Some(reason) = self.part.presence.withdraw() {
            return Err(Error::Lost(reason));
        }
        let (name, session_id, token) = self.key();
        let to_session_id = session_id_of_next.unwrap_or_default().to_owned();
        let request = v1::TransferRequest { name, session_id, token, to_session_id, ..Default::default() };
        Ok(self.session().connection().call(request).await?.token)
    }

    /// Replaces the labels of the claim.
    ///
    /// # Errors
    /// `Refused`; `Unavailable`.
    pub async fn update_metadata(&self, metadata: Metadata) -> Result<()> {
        let (name, session_id, token) = self.key();
        let request = v1::UpdateClaimRequest { name, session_id, token, metadata, ..Default::default() };
        self.session().connection().call(request).await.map(drop)
    }

    /// Releases the locks, and returns when the server has released them.
    ///
    /// # Errors
    /// `Lost` if the hold had been lost before, even if only the server knows that; `Unavailable` if no server answered
    /// in time, and then the release is repeated in the background; `Refused`.
    pub async fn release(self) -> Result<()> {
        let span = tracing::info_span!(
            "tenure.release",
            otel.kind = "client",
            tenure.lock.names = trace::joined(self.names()),
            tenure.fencing_token = self.token()
        );
        self.part.end().instrument(span).await
    }

    /// What identifies the hold in a plain call.
    fn key(&self) -> (String, String, u64) {
        (self.names().first().cloned().unwrap_or_default(), self.session().id().to_owned(), self.token())
    }
}

impl Deref for Guard {
    type Target = Hold;

    fn deref(&self) -> &Hold {
        &self.hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_before_the_drain_is_over() {
        let now = Moment(Duration::from_secs(100));
        for (drain, left) in [(100, 80), (1_000, 800), (10_000, 9_000), (60_000, 59_000)] {
            let (drain, left) = (Duration::from_millis(drain), Duration::from_millis(left));
            assert_eq!(stop_at(drain, now), now.after(left), "{drain:?}");
        }
    }
}
