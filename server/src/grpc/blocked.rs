//! Lists waiting claims with the claims that block them.

use std::ops::ControlFlow;

use tenure_core::{Claim, ClaimState, DeadlockSearch, Revision};
use tenure_proto::v1;
use tonic::Status;

use super::authorize::Admitted;
use super::views::ClaimView;
use super::{Api, convert, in_time, page_token, validate};
use crate::limits;
use crate::sequencer::View;

/// Maximum number of blocking claims listed for a waiting one.
const NAMED: usize = 100;

impl Api {
    pub(super) async fn list_blocked(
        &self,
        asked: Admitted<v1::ListBlockedRequest>,
    ) -> Result<v1::ListBlockedResponse, Status> {
        let (request, principal) = asked.into_parts();
        let size = validate::page_size(request.page_size)?;
        let only = request.deadlocked_only;
        let scope = format!("blocked/{}/{only}", validate::namespace(&request.namespace)?);
        let after = Revision(page_token::after(&scope, &request.page_token)?.unwrap_or_default());
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let name = namespace.name().clone();
        let read = namespace.view(move |view| {
            let table = view.table;
            let mut search = DeadlockSearch::default();
            let (blocked, last) =
                page_token::fill(table.claims_after(after), size, prost::Message::encoded_len, |claim| {
                    // Claims beyond the limit of the deadlock search are left to the next page.
                    if search.is_over() {
                        return ControlFlow::Break(());
                    }
                    let is_readable =
                        |claim: &Claim| claim.spec.names.iter().any(|lock| principal.may_read(&name, lock));
                    let waits = claim.state == ClaimState::Waiting && is_readable(claim);
                    ControlFlow::Continue(waits.then(|| blocked(claim, view, only, is_readable, &mut search)).flatten())
                });
            (blocked, last.map(|last| last.id), table.revision().0)
        });
        let (blocked, last, revision) = in_time(read).await?;
        Ok(v1::ListBlockedResponse { blocked, next_page_token: page_token::token(&scope, last), revision })
    }
}

/// A waiting claim with the blocking claims that the reader may see. `None` if only deadlocks are requested and it is
/// in none.
fn blocked(
    claim: &Claim,
    view: &View<'_>,
    only: bool,
    is_readable: impl Fn(&Claim) -> bool,
    search: &mut DeadlockSearch,
) -> Option<v1::BlockedClaim> {
    let table = view.table;
    let found = ClaimView::of(claim, view, search);
    if only && !found.is_deadlocked() {
        return None;
    }
    let in_the_way = table.waits_for(claim).into_iter().filter_map(|id| table.claim(id));
    let (mut blocked_by, mut bytes, mut truncated) = (Vec::new(), 0, false);
    for claim in in_the_way.filter(|claim| is_readable(claim)) {
        bytes += claim.spec.bytes();
        truncated = blocked_by.len() == NAMED || bytes > limits::LISTED_CLAIMS;
        if truncated {
            break;
        }
        blocked_by.push(convert::claim_since(claim, view.granted_ms(claim)));
    }
    Some(v1::BlockedClaim { claim: Some(found.into()), blocked_by, truncated })
}
