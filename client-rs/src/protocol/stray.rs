//! Strays: claims that the server has and this client does not. The client has ended them, but the database has lost
//! that.

use tenure_proto::v1;
use tenure_proto::v1::command::Kind;

use super::{Engine, What};
use crate::clock::Moment;
use crate::error::{Reason, Refusal};
use crate::session_id::SessionId;

impl Engine {
    /// The session was attached: ends the claims that this client neither holds nor requests. (Claims that it requests
    /// are granted again.)
    pub(super) fn give_strays_back(&mut self, id: &SessionId, claims: Vec<v1::Claim>, now: Moment) {
        let Some(live) = self.sessions.get(id) else { return };
        let is_known = |claim: &v1::Claim| live.claims.values().any(|known| *known.spec.names == *claim.names);
        let strays: Vec<_> = claims.into_iter().filter(|claim| !is_known(claim)).collect();
        for stray in strays {
            let (namespace, session_id) = (self.namespace.clone(), id.to_wire());
            let kind = match stray.state() {
                v1::ClaimState::Held => {
                    let name = stray.names.first().cloned().unwrap_or_default();
                    Kind::Release(v1::ReleaseRequest { namespace, name, session_id, token: stray.token })
                }
                v1::ClaimState::Waiting => {
                    Kind::CancelAcquire(v1::CancelAcquireRequest { namespace, names: stray.names.clone(), session_id })
                }
                v1::ClaimState::Lingering | v1::ClaimState::Unspecified => continue,
            };
            tracing::warn!(session = %id, names = ?stray.names, token = stray.token, "gives back what it did before");
            self.send(kind, What::Stray(id.clone()), now);
        }
    }

    /// A stray whose end was refused is found again when the session is attached again.
    pub(super) fn stray_refused(&mut self, id: &SessionId, refusal: &Refusal, now: Moment) {
        if self.ended_by_refusal(id, refusal, now) {
            return;
        }
        if self.is_for_now(refusal) || refusal.reason == Reason::NotAttached {
            self.moved(id, now);
        }
    }
}
