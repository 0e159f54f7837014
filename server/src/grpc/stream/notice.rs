//! Notices: what a client is told without having asked.

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;

use crate::grpc::convert;
use crate::sequencer::Notice;

/// A notice as the contract has it.
pub(super) fn notice_of(notice: Notice) -> Answered {
    match notice {
        Notice::SessionEnded { session, reason } => Answered::SessionEnded(v1::SessionEnded {
            session_id: session.to_string(),
            reason: convert::end_reason(reason).into(),
        }),
        Notice::HoldEnded { claim, reason, eviction } => Answered::HoldEnded(Box::new(v1::HoldEnded {
            session_id: claim.spec.session.to_string(),
            names: claim.spec.names.iter().map(ToString::to_string).collect(),
            token: claim.token().map_or(0, |token| token.0),
            reason: convert::end_reason(reason).into(),
            operator: eviction.as_ref().map(|eviction| eviction.operator.to_string()).unwrap_or_default(),
            note: eviction.map(|eviction| eviction.note.to_string()).unwrap_or_default(),
        })),
        Notice::TransferRequested { claim, by } => Answered::TransferRequested(Box::new(v1::TransferRequested {
            session_id: claim.spec.session.to_string(),
            names: claim.spec.names.iter().map(ToString::to_string).collect(),
            token: claim.token().map_or(0, |token| token.0),
            drain: claim.transfer.as_ref().map(|transfer| convert::duration(transfer.drain)),
            operator: by.as_ref().map(|by| by.operator.to_string()).unwrap_or_default(),
            note: by.map(|by| by.note.to_string()).unwrap_or_default(),
        })),
        Notice::SessionMoved { session } => {
            Answered::SessionMoved(v1::SessionMoved { session_id: session.to_string() })
        }
    }
}
