//! The latest state of what was declared, as its handles see it.

use crate::error::{Error, LostReason, Refusal};
use crate::handoff::TransferRequest;
use crate::model::{Busy, Claim, EndReason};
use crate::protocol::End;

/// The latest state of a session, claim or membership.
#[derive(Clone, Debug)]
pub(crate) enum Latest {
    /// No state has been received.
    Declared,
    /// The session is open.
    Open,
    /// The claim is in the queue.
    Waiting(Busy),
    /// The claim holds its locks. With the last request to hand over.
    Held { token: u64, request: Option<TransferRequest> },
    /// The membership exists, under this number.
    Joined(u64),
    /// It has ended.
    Ended(End),
}

impl Latest {
    /// Why it has ended, if it has.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        if let Self::Ended(end) = self { Some(end.lost_reason()) } else { None }
    }
}

impl End {
    /// As the reason of a loss.
    pub(crate) fn lost_reason(&self) -> LostReason {
        match self {
            Self::Reported(ended) if ended.reason != 0 => {
                let text = |text: &String| (!text.is_empty()).then(|| text.clone());
                let reason = EndReason::from_proto(ended.reason);
                LostReason::Ended { reason, operator: text(&ended.operator), note: text(&ended.note) }
            }
            Self::Withdrawn => LostReason::Closed,
            Self::Unrenewed => LostReason::Unrenewed,
            Self::Paused => LostReason::Stalled,
            Self::Superseded => LostReason::InUse,
            Self::Reported(_) | Self::Busy(_) | Self::Rejected(_) | Self::NoSession | Self::HistoryLost => {
                LostReason::Forgotten
            }
        }
    }

    /// As the error of the call that declared it. A claim that ended while it waited was rejected.
    pub(crate) fn into_error(self, session_id: &str) -> Error {
        match self {
            Self::Rejected(refusal) => Refusal::from(*refusal).into(),
            Self::Reported(ended) => Refusal::of_waiter(session_id, EndReason::from_proto(ended.reason)).into(),
            other => Error::Lost(other.lost_reason()),
        }
    }

    /// What a release found: an error if the hold had been lost before.
    pub(crate) fn into_released(self) -> Result<(), Error> {
        let is_orderly = match &self {
            Self::Withdrawn => true,
            Self::Reported(ended) => matches!(
                EndReason::from_proto(ended.reason),
                EndReason::Released | EndReason::Transferred | EndReason::Closed | EndReason::Unknown
            ),
            _ => false,
        };
        if is_orderly { Ok(()) } else { Err(Error::Lost(self.lost_reason())) }
    }
}

impl From<Option<Box<tenure_proto::v1::Claim>>> for Busy {
    fn from(holder: Option<Box<tenure_proto::v1::Claim>>) -> Self {
        Self { holder: holder.map(|holder| Claim::from(*holder)) }
    }
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1;

    use super::*;
    use crate::error::Reason;

    fn reported(reason: v1::EndReason) -> End {
        End::Reported(v1::EndedState { reason: reason.into(), operator: "op".into(), ..v1::EndedState::default() })
    }

    #[test]
    fn release_succeeds_unless_the_hold_was_lost_before() {
        for end in [
            reported(v1::EndReason::Released),
            reported(v1::EndReason::Transferred),
            reported(v1::EndReason::Closed),
            reported(v1::EndReason::Unspecified),
            End::Withdrawn,
        ] {
            assert!(end.clone().into_released().is_ok(), "{end:?}");
        }
        let Err(Error::Lost(LostReason::Ended { reason, operator, note })) =
            reported(v1::EndReason::Evicted).into_released()
        else {
            panic!("not lost")
        };
        assert_eq!((reason, operator.as_deref(), note), (EndReason::Evicted, Some("op"), None));
        assert!(matches!(End::Unrenewed.into_released(), Err(Error::Lost(LostReason::Unrenewed))));
        assert!(matches!(End::HistoryLost.into_released(), Err(Error::Lost(LostReason::Forgotten))));
    }

    #[test]
    fn claim_that_ended_while_it_waited_is_an_error_with_the_reason() {
        let error = reported(v1::EndReason::Evicted).into_error("worker-7");
        let Error::Refused(refusal) = error else { panic!("not refused") };
        assert_eq!((refusal.reason.clone(), refusal.end_reason()), (Reason::ClaimEnded, Some(EndReason::Evicted)));
        assert_eq!(refusal.fact("session_id"), Some("worker-7"));
        assert!(matches!(End::Superseded.into_error(""), Error::Lost(LostReason::InUse)));
    }
}
