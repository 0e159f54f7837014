//! Lists the history of a lock's holders, page by page.

use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::history_entry::Kind;
use tonic::Status;

use super::authorize::Admitted;
use super::{Api, convert, in_time, page_token, validate};
use crate::history::{self, Entry, HoldRecord};
use crate::sequencer::Namespace;
use crate::telemetry::wall_clock::now_ms;

impl Api {
    pub(super) async fn list_history(
        &self,
        asked: Admitted<v1::ListHistoryRequest>,
    ) -> Result<v1::ListHistoryResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let size = validate::page_size(request.page_size)?;
        let scope = format!("history/{}/{name}", validate::namespace(&request.namespace)?);
        let cursor = page_token::after(&scope, &request.page_token)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let read = in_time(history::read(&namespace, &name, size, cursor)).await?;
        let entries = read.entries.into_iter().map(|entry| v1::HistoryEntry { kind: Some(kind(entry, &namespace)) });
        Ok(v1::ListHistoryResponse {
            entries: entries.collect(),
            next_page_token: page_token::token(&scope, read.next),
            revision: read.revision.0,
            kept_since: read.since_ms.map(convert::timestamp),
        })
    }
}

fn kind(entry: Entry, namespace: &Namespace) -> Kind {
    match entry {
        Entry::Hold(hold) => Kind::Hold(record(hold, namespace)),
        Entry::Lost(loss) => Kind::Loss(v1::HistoryLoss {
            after_revision: loss.after.0,
            revision: loss.revision.0,
            time: Some(convert::timestamp(loss.at_ms)),
        }),
    }
}

fn record(hold: HoldRecord, namespace: &Namespace) -> v1::HoldRecord {
    let HoldRecord { claim, token, spec, queued_ms, granted_ms, ttl, end } = hold;
    let renewals = if end.is_none() { namespace.renewals(claim, &spec) } else { None };
    let until_ms = end.as_ref().map_or_else(now_ms, |end| end.at_ms);
    let waited = if claim == token { Some(Duration::ZERO) } else { between(queued_ms, granted_ms) };
    let longest_pause = match &end {
        Some(end) => end.longest_pause,
        None => renewals.map(|renewals| renewals.longest_pause),
    };
    let eviction = end.as_ref().and_then(|end| end.eviction.as_ref());
    v1::HoldRecord {
        claim_id: claim.0,
        names: spec.names.iter().map(ToString::to_string).collect(),
        token: token.0,
        session_id: spec.session.to_string(),
        owner: spec.owner.to_string(),
        metadata: (*spec.metadata).clone(),
        priority: spec.priority,
        queued_time: queued_ms.map(convert::timestamp),
        granted_time: granted_ms.map(convert::timestamp),
        ended_time: end.as_ref().map(|end| convert::timestamp(end.at_ms)),
        waited: waited.map(convert::duration),
        held: between(granted_ms, Some(until_ms)).map(convert::duration),
        longest_pause: longest_pause.map(validate::whole_ms).map(convert::duration),
        since_renewal: renewals.map(|renewals| convert::duration(validate::whole_ms(renewals.since_last))),
        ttl: ttl.map(convert::duration),
        end_reason: end.as_ref().map_or(v1::EndReason::Unspecified, |end| convert::end_reason(end.reason)).into(),
        operator: eviction.map(|eviction| eviction.operator.to_string()).unwrap_or_default(),
        note: eviction.map(|eviction| eviction.note.to_string()).unwrap_or_default(),
    }
}

/// The time between two timestamps; zero if their clocks differ so much that it would be negative.
fn between(from_ms: Option<i64>, to_ms: Option<i64>) -> Option<Duration> {
    let ms = to_ms?.saturating_sub(from_ms?);
    Some(Duration::from_millis(u64::try_from(ms).unwrap_or_default()))
}
