//! Who waits for whom.

use tenure_core::{Claim, ClaimState, DeadlockSearch, Revision, Table};
use tenure_proto::v1;

use super::admission::Admitted;
use super::page::LOOKED_AT;
use super::problem::Problem;
use super::{Api, bounds, convert, in_time, page};

/// The most claims that are named as in the way of one.
const NAMED: usize = 100;

impl Api {
    pub(super) async fn list_blocked(
        &self,
        asked: Admitted<v1::ListBlockedRequest>,
    ) -> Result<v1::ListBlockedResponse, Problem> {
        let (request, principal) = asked.into_parts();
        let size = bounds::page_size(request.page_size)?;
        let only = request.deadlocked_only;
        let scope = format!("blocked/{}/{only}", bounds::namespace(&request.namespace)?);
        let after = match page::after(&scope, &request.page_token)? {
            Some(last) => Revision(last.parse().map_err(|_| page::forged())?),
            None => Revision(0),
        };
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let name = namespace.name().clone();
        let read = namespace.read(move |table| {
            let may_read = |claim: &Claim| claim.spec.names.iter().any(|lock| principal.may_read(&name, lock));
            let (blocked, last) = blocked(table, after, size, only, may_read);
            (blocked, last, table.revision().0)
        });
        let (blocked, last, revision) = in_time(async { Ok(read.await?) }).await?;
        let next_page_token = last.map_or_else(String::new, |last| page::token(&scope, &last.to_string()));
        Ok(v1::ListBlockedResponse { blocked, next_page_token, revision })
    }
}

/// A page of the claims that wait; and the last one that was looked at, if there may be more after it. The page ends where nothing
/// more is searched for deadlocks, and the next one goes on there.
fn blocked(
    table: &Table,
    after: Revision,
    size: usize,
    only_deadlocked: bool,
    may_read: impl Fn(&Claim) -> bool,
) -> (Vec<v1::BlockedClaim>, Option<Revision>) {
    let mut search = DeadlockSearch::default();
    let (mut blocked, mut last) = (Vec::new(), None);
    for (looked_at, claim) in table.claims_after(after).enumerate() {
        if blocked.len() == size || looked_at == LOOKED_AT || search.is_over() {
            return (blocked, last);
        }
        last = Some(claim.id);
        if claim.state != ClaimState::Waiting || !may_read(claim) {
            continue;
        }
        let found = convert::claim_in(claim, table, &mut search);
        if !only_deadlocked || !found.deadlock.is_empty() {
            let in_the_way = table.waits_for(claim).into_iter().take(NAMED).filter_map(|id| table.claim(id));
            blocked.push(v1::BlockedClaim { claim: Some(found), blocked_by: in_the_way.map(convert::claim).collect() });
        }
    }
    (blocked, None)
}
