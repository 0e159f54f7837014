//! `history`: lists the holds of a lock, page by page.

use std::time::Duration;

use tenure_proto::v1::{HistoryEntry, ListHistoryRequest, ListHistoryResponse, history_entry::Kind};
use tokio::time::Instant;

use crate::Context;
use crate::exit::Failure;
use crate::output;
use crate::rpc::{Repeat, Rpc};

/// The maximum page size.
const PAGE: u32 = 100;

/// How long a server may search its log before it replies.
const SEARCH: Duration = Duration::from_secs(5);

pub async fn history(context: &Context, name: &str, limit: u32) -> Result<u8, Failure> {
    let listed = read(context, &context.rpc, name, limit, None).await?;
    context.output.message(&listed, |listed| output::history(name, listed))
}

/// The current holds of a lock, and at most `limit` past entries: reads as many pages as needed, but starts none after
/// `until`. The page token, and otherwise the start of the kept history, are those of the last page.
pub(super) async fn read(
    context: &Context,
    rpc: &Rpc,
    name: &str,
    limit: u32,
    until: Option<Instant>,
) -> Result<ListHistoryResponse, Failure> {
    let rpc = rpc.with_more_time(SEARCH);
    let mut all = ListHistoryResponse::default();
    let mut left = limit;
    loop {
        let request = ListHistoryRequest {
            namespace: context.namespace(),
            name: name.to_owned(),
            page_size: i32::try_from(left.min(PAGE)).unwrap_or_default(),
            page_token: std::mem::take(&mut all.next_page_token),
        };
        let page = rpc.call(Repeat::Safe, &request).await?;
        let over = page.entries.iter().filter(|entry| !lasts(entry)).count();
        left = left.saturating_sub(u32::try_from(over).unwrap_or(u32::MAX));
        all.entries.extend(page.entries);
        (all.next_page_token, all.revision, all.kept_since) = (page.next_page_token, page.revision, page.kept_since);
        if all.next_page_token.is_empty() || left == 0 || until.is_some_and(|until| Instant::now() >= until) {
            return Ok(all);
        }
    }
}

fn lasts(entry: &HistoryEntry) -> bool {
    matches!(&entry.kind, Some(Kind::Hold(hold)) if hold.ended_time.is_none())
}
