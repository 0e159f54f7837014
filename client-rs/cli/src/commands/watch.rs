//! `watch`: prints events, one per line, and reconnects when a server becomes unavailable.

use std::time::Duration;

use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{Claim, Event, EventType, Lock, WatchRequest, WatchResponse, watch_response::Kind};
use tokio::time::sleep;
use tonic::Streaming;

use crate::Context;
use crate::exit::Failure;
use crate::output::{
    by, describe_claim, describe_holders, end_reason, escape, event_time, exact, handoff, history_gone, in_mode,
    metadata, say, settings,
};
use crate::rejection;
use crate::rpc::Repeat;

/// The pauses before a reconnection attempt: the first, and the maximum.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

pub async fn watch(
    context: &Context,
    names: Vec<String>,
    prefixes: Vec<String>,
    after_revision: u64,
) -> Result<u8, Failure> {
    let namespace = context.namespace();
    let request = WatchRequest { namespace, names, prefixes, after_revision, ..WatchRequest::default() };
    follow(context, request, lines).await
}

/// Prints the messages of a watch for ever, as formatted by `lines`; reconnects to the next server after a failure.
pub(super) async fn follow(
    context: &Context,
    mut request: WatchRequest,
    lines: impl Fn(&WatchResponse) -> Vec<String>,
) -> Result<u8, Failure> {
    let mut stream = open(context, &request).await?;
    let mut pause = PAUSES.0;
    loop {
        match stream.message().await {
            Ok(Some(response)) => {
                pause = PAUSES.0;
                // A partial snapshot must be requested again as a whole.
                let in_snapshot = match &response.kind {
                    Some(Kind::Snapshot(snapshot)) => snapshot.more,
                    Some(Kind::HistoryGone(_)) => true,
                    _ => false,
                };
                request.after_revision = if in_snapshot { 0 } else { response.revision };
                context.output.streamed(&response, &lines)?;
                continue;
            }
            Err(status) if rejection::no_reply(&status).is_none() => return Err(rejection::failure(&status)),
            Ok(None) | Err(_) => {}
        }
        stream = loop {
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
            match open(context, &request).await {
                Ok(stream) => break stream,
                Err(failure) if failure.code == crate::exit::UNAVAILABLE => {
                    say(&format!("{failure}\n  retrying in {}", exact(pause)));
                }
                Err(failure) => return Err(failure),
            }
        };
    }
}

async fn open(context: &Context, request: &WatchRequest) -> Result<Streaming<WatchResponse>, Failure> {
    context
        .rpc
        .call_with(Repeat::Safe, request, async |wire, request| WatchServiceClient::new(wire).watch(request).await)
        .await
}

/// A message as lines for people. Progress prints nothing.
fn lines(response: &WatchResponse) -> Vec<String> {
    match &response.kind {
        Some(Kind::Snapshot(snapshot)) => {
            let mut lines: Vec<String> = snapshot.locks.iter().map(|lock| lock_line(lock, response.revision)).collect();
            if lines.is_empty() && !snapshot.more {
                lines.push(format!("rev {}  no lock is held or waited for", response.revision));
            }
            lines
        }
        Some(Kind::Events(events)) => events.events.iter().flat_map(event_lines).collect(),
        Some(Kind::HistoryGone(gone)) => vec![history_gone(gone)],
        Some(Kind::Progress(_)) | None => Vec::new(),
    }
}

fn lock_line(lock: &Lock, revision: u64) -> String {
    let mut text = format!("rev {revision}  {}  {}", escape(&lock.name), describe_holders(lock));
    for holder in &lock.holders {
        if let Some(asked) = handoff(holder) {
            text.push_str(&format!(", token {} is {asked}", holder.token));
        }
    }
    if lock.waiter_count > 0 {
        text.push_str(&format!(", {} waiting", lock.waiter_count));
    }
    if lock.waiters.iter().any(|waiter| !waiter.deadlock.is_empty()) {
        text.push_str(" (deadlock)");
    }
    if lock.settings.is_some() {
        text.push_str(&format!("; set: {}", settings(lock.settings.as_ref())));
    }
    text
}

/// Formats an event, one line for each lock.
fn event_lines(event: &Event) -> Vec<String> {
    let claim = event.claim.clone().unwrap_or_default();
    let (who, mode, token) = (describe_claim(&claim), in_mode(&claim), claim.token);
    let by = by(&event.operator, &event.note);
    let why = format!("{}{by}", end_reason(event.end_reason()));
    let what = match event.r#type() {
        EventType::Queued => format!("{who} waits for it{mode}"),
        EventType::Granted => format!("granted to {who}, token {token}{mode}"),
        EventType::Lingering => {
            format!("{why}: {who} released it before its minimum hold was over, token {token}")
        }
        EventType::Ended if token != 0 => format!("{why}: {who} no longer holds it, token {token}"),
        EventType::Ended => format!("{why}: {who} no longer waits for it"),
        EventType::TransferStarted => {
            let asked = handoff(&claim).unwrap_or_else(|| "asked to hand over".to_owned());
            let by = if event.operator.is_empty() { ", as a waiter of higher priority is queued" } else { by.as_str() };
            format!("{who} is {asked}{by}, token {token}")
        }
        EventType::TransferCancelled => format!("{who} did not hand over in time and keeps the hold, token {token}"),
        EventType::Transferred => transferred(&event.previous.clone().unwrap_or_default(), &claim),
        EventType::Updated => format!("{who} changed its metadata: {}, token {token}", metadata(&claim.metadata)),
        EventType::Configured => format!("set: {}{by}", settings(event.settings.as_ref())),
        EventType::Unspecified => "unknown event".to_owned(),
    };
    let line = |name: &String| {
        let vacant = if event.vacant_names.contains(name) { "; no holder" } else { "" };
        format!("{}rev {}  {}  {what}{vacant}", event_time(event.time), event.revision, escape(name))
    };
    event.names.iter().map(line).collect()
}

/// A handoff on one line: by owners, or by sessions if the owners do not distinguish the two.
fn transferred(from: &Claim, to: &Claim) -> String {
    let by_owner = !from.owner.is_empty() && !to.owner.is_empty() && from.owner != to.owner;
    let name = |claim: &Claim| escape(if by_owner { &claim.owner } else { &claim.session_id });
    format!("transferred: {} (token {}) -> {} (token {})", name(from), from.token, name(to), to.token)
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::{
        EndReason, Events, HistoryGone, HistoryGoneCause, LockSettings, PendingTransfer, Progress, Snapshot,
    };

    use super::*;

    fn printed(kind: Kind) -> Vec<String> {
        lines(&WatchResponse { revision: 45, kind: Some(kind) })
    }

    fn event(kind: EventType) -> Event {
        Event {
            revision: 44,
            names: vec!["leader".into()],
            r#type: kind.into(),
            claim: Some(Claim { token: 41, session_id: "s1".into(), owner: "host-a".into(), ..Claim::default() }),
            time: Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 5_000_000 }),
            ..Event::default()
        }
    }

    fn line(event: Event) -> String {
        printed(Kind::Events(Events { events: vec![event], ..Events::default() })).concat()
    }

    #[test]
    fn a_grant_says_to_whom_and_when() {
        assert_eq!(
            line(event(EventType::Granted)),
            "2023-11-14T22:13:20.005Z  rev 44  leader  granted to host-a (session s1), token 41"
        );
    }

    #[test]
    fn end_shows_its_reason_and_that_there_is_no_holder() {
        let mut ended = event(EventType::Ended);
        ended.set_end_reason(EndReason::Evicted);
        (ended.operator, ended.note) = ("anna".into(), "host is gone".into());
        ended.vacant_names = ended.names.clone();
        let text = line(ended);
        assert!(text.contains("evicted by anna (host is gone): host-a (session s1) no longer holds it"), "{text}");
        assert!(text.ends_with("; no holder"), "{text}");
    }

    #[test]
    fn a_waiter_that_leaves_is_no_holder() {
        let mut left = event(EventType::Ended);
        left.set_end_reason(EndReason::Expired);
        left.claim = Some(Claim { session_id: "s2".into(), ..Claim::default() });
        assert!(line(left).ends_with("expired: session s2 no longer waits for it"));
    }

    fn holder(owner: &str, session: &str, token: u64) -> Claim {
        Claim { owner: owner.into(), session_id: session.into(), token, ..Claim::default() }
    }

    #[test]
    fn a_handoff_is_one_line() {
        let transferred = |from: Claim, to: Claim| {
            let event = Event { claim: Some(to), previous: Some(from), ..event(EventType::Transferred) };
            line(event).split("leader  ").nth(1).unwrap().to_owned()
        };
        let text = transferred(holder("ann", "s1", 4), holder("bob", "s2", 9));
        assert_eq!(text, "transferred: ann (token 4) -> bob (token 9)");
        let text = transferred(holder("host", "s1", 4), holder("host", "s2", 9));
        assert_eq!(text, "transferred: s1 (token 4) -> s2 (token 9)");
    }

    #[test]
    fn what_a_holder_is_asked_for_says_by_whom() {
        let transfer =
            Some(PendingTransfer { drain: Some(prost_types::Duration { seconds: 9, nanos: 0 }), ..Default::default() });
        let claim = Some(Claim { transfer, ..holder("ann", "s1", 4) });
        let mut asked = Event { claim, ..event(EventType::TransferStarted) };
        let text = line(asked.clone());
        assert!(
            text.ends_with(
                "ann (session s1) is asked to hand over within 9s, as a waiter of higher priority is queued, token 4"
            ),
            "{text}"
        );
        (asked.operator, asked.note) = ("eve".into(), "drill".into());
        assert!(line(asked).ends_with("is asked to hand over within 9s by eve (drill), token 4"));
        let kept = Event { claim: Some(holder("ann", "s1", 4)), ..event(EventType::TransferCancelled) };
        assert!(line(kept).ends_with("ann (session s1) did not hand over in time and keeps the hold, token 4"));
    }

    #[test]
    fn update_shows_what_is_changed() {
        let claim = Claim { metadata: [("addr".into(), "a:1".into())].into(), ..holder("ann", "s1", 4) };
        let updated = Event { claim: Some(claim), ..event(EventType::Updated) };
        assert!(line(updated).ends_with("ann (session s1) changed its metadata: addr=a:1, token 4"));
        let mut set = Event { claim: None, operator: "eve".into(), ..event(EventType::Configured) };
        assert!(line(set.clone()).ends_with("leader  set: nothing by eve"));
        set.settings = Some(LockSettings { limit: 5, preempt: None });
        assert!(line(set).ends_with("leader  set: limit 5 by eve"));
    }

    #[test]
    fn a_snapshot_says_how_things_are() {
        let idle = Lock { name: "leader".into(), ..Lock::default() };
        let snapshot = Snapshot { locks: vec![idle], ..Snapshot::default() };
        assert_eq!(printed(Kind::Snapshot(snapshot)), ["rev 45  leader  not held"]);
        assert_eq!(printed(Kind::Snapshot(Snapshot::default())), ["rev 45  no lock is held or waited for"]);
    }

    #[test]
    fn progress_is_quiet_and_gaps_are_not() {
        assert!(printed(Kind::Progress(Progress {})).is_empty());
        let gone = HistoryGone { cause: HistoryGoneCause::Lost.into() };
        assert!(printed(Kind::HistoryGone(gone)).concat().contains("the database lost it"));
    }
}
