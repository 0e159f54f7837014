//! Implements the lock calls: release, cancel, evict, get and list.

use std::ops::ControlFlow;

use tenure_core::{Command, DeadlockSearch, Outcome};
use tenure_proto::v1;
use tonic::Status;

use super::authorize::Admitted;
use super::pieces::Piece;
use super::views::LockView;
use super::{Api, convert, in_time, page_token, validate};
use crate::limits;

impl Api {
    pub(super) async fn release(&self, asked: Admitted<v1::ReleaseRequest>) -> Result<v1::ReleaseResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let session = validate::session_id("session_id", &request.session_id)?;
        let token = validate::token(request.token)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = Command::Release { session, name, token };
        let decided = in_time(namespace.decide(principal.request(command))).await?;
        Ok(v1::ReleaseResponse { revision: decided.revision.0 })
    }

    pub(super) async fn cancel_acquire(
        &self,
        asked: Admitted<v1::CancelAcquireRequest>,
    ) -> Result<v1::CancelAcquireResponse, Status> {
        let (request, principal) = asked.into_parts();
        let names = validate::names(&request.names)?;
        let session = validate::session_id("session_id", &request.session_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = Command::CancelAcquire { session, names };
        let decided = in_time(namespace.decide(principal.request(command))).await?;
        Ok(v1::CancelAcquireResponse { revision: decided.revision.0 })
    }

    pub(super) async fn evict(&self, asked: Admitted<v1::EvictRequest>) -> Result<v1::EvictResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let token = if request.token == 0 { None } else { Some(validate::token(request.token)?) };
        let eviction = validate::eviction(&request.operator, &request.note)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = Command::Evict { name, token, eviction };
        let decided = in_time(namespace.decide(principal.request(command))).await?;
        let evicted = match decided.outcome {
            Outcome::Evicted(claims) => claims,
            _ => Vec::new(),
        };
        let mut bytes = 0;
        let listed = evicted.iter().take_while(|claim| {
            bytes += claim.spec.bytes();
            bytes <= limits::PAGE
        });
        Ok(v1::EvictResponse {
            evicted: listed.map(convert::claim).collect(),
            ended_count: evicted.len() as u64,
            revision: decided.revision.0,
        })
    }

    pub(super) async fn get_lock(&self, asked: Admitted<v1::GetLockRequest>) -> Result<v1::GetLockResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let read = namespace
            .view(move |view| (LockView::named(&name, view, &mut DeadlockSearch::default()), view.table.revision().0));
        let (lock, revision) = in_time(read).await?;
        Ok(v1::GetLockResponse { lock: Some(lock.into()), revision })
    }

    pub(super) async fn list_locks(
        &self,
        asked: Admitted<v1::ListLocksRequest>,
    ) -> Result<v1::ListLocksResponse, Status> {
        let (request, principal) = asked.into_parts();
        validate::prefix(&request.prefix)?;
        let size = validate::page_size(request.page_size)?;
        let scope = format!("locks/{}/{}", validate::namespace(&request.namespace)?, request.prefix);
        let after: Option<String> = page_token::after(&scope, &request.page_token)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let pieces = principal.readable(namespace.name(), &request.prefix);
        let read = namespace.view(move |view| {
            let table = view.table;
            let of = |piece| {
                table.locks_after(Piece::start(piece), after.as_deref()).take_while(|(name, _)| piece.has(name))
            };
            let mut search = DeadlockSearch::default();
            let locks = pieces.iter().flat_map(of);
            let (locks, last) = page_token::fill(locks, size, LockView::bytes, |(name, lock)| {
                ControlFlow::Continue(Some(LockView::of(name, Some(lock), view, &mut search)))
            });
            (locks, last.map(|(name, _)| name.clone()), table.revision().0)
        });
        let (locks, last, revision) = in_time(read).await?;
        let locks = locks.into_iter().map(v1::Lock::from).collect();
        Ok(v1::ListLocksResponse { locks, next_page_token: page_token::token(&scope, last), revision })
    }
}
