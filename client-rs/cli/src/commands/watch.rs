//! `watch`: what happens, a line an event, across servers that go away.

use std::time::{Duration, SystemTime};

use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{
    ClaimState, EndReason, Event, EventType, HistoryGoneCause, Lock, WatchRequest, WatchResponse, watch_response::Kind,
};
use tokio::time::sleep;
use tonic::Streaming;

use crate::Context;
use crate::args::WatchArgs;
use crate::exit::Failure;
use crate::output::{claim_state, describe_claim, plain, say};
use crate::refusal;
use crate::rpc::Repeat;

/// The pause before the first attempt to go on, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

pub async fn watch(context: &Context, args: WatchArgs) -> Result<u8, Failure> {
    let request = WatchRequest {
        namespace: context.global.namespace.clone(),
        names: args.names,
        prefixes: args.prefix,
        after_revision: args.after_revision,
        ..WatchRequest::default()
    };
    follow(context, request, lines).await
}

/// Prints what a watch tells, as lines that `lines` makes of it, for ever; at the next server when one goes away.
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
                // A snapshot that came only in part must be asked for again as a whole.
                let in_snapshot = match &response.kind {
                    Some(Kind::Snapshot(snapshot)) => snapshot.more,
                    Some(Kind::HistoryGone(_)) => true,
                    _ => false,
                };
                request.after_revision = if in_snapshot { 0 } else { response.revision };
                context.output.streamed(&response, &lines)?;
                continue;
            }
            Ok(None) => {}
            Err(status) => match refusal::ask_another(&status) {
                Some(_) => {}
                None => return Err(refusal::failure(&status)),
            },
        }
        stream = loop {
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
            match open(context, &request).await {
                Ok(stream) => break stream,
                Err(failure) if failure.code == crate::exit::UNAVAILABLE => {
                    say(&format!("{failure}\n  trying again in {}", humantime::format_duration(pause)));
                }
                Err(failure) => return Err(failure),
            }
        };
    }
}

async fn open(context: &Context, request: &WatchRequest) -> Result<Streaming<WatchResponse>, Failure> {
    context
        .rpc
        .call(Repeat::Safe, |channel| {
            let request = request.clone();
            async move { WatchServiceClient::new(channel).watch(request).await }
        })
        .await
}

/// A message as lines for people. Progress is no news.
fn lines(response: &WatchResponse) -> Vec<String> {
    match &response.kind {
        Some(Kind::Snapshot(snapshot)) => {
            let mut lines: Vec<String> = snapshot.locks.iter().map(|lock| now(lock, response.revision)).collect();
            if lines.is_empty() && !snapshot.more {
                lines.push(format!("rev {}  no lock is held or waited for", response.revision));
            }
            lines
        }
        Some(Kind::Events(events)) => events.events.iter().map(happened).collect(),
        Some(Kind::HistoryGone(gone)) => {
            let why = match gone.cause() {
                HistoryGoneCause::Lost => "the database lost it",
                _ => "it was dropped as too old",
            };
            vec![format!("the history after the last revision is gone: {why}. How things are now:")]
        }
        Some(Kind::Progress(_)) | None => Vec::new(),
    }
}

fn now(lock: &Lock, revision: u64) -> String {
    let who = match lock.holders.first() {
        None => "nobody holds it".to_owned(),
        Some(claim) if claim.state() == ClaimState::Held => {
            format!("held by {}, token {}", describe_claim(claim), claim.token)
        }
        Some(claim) => format!("nobody holds it: {} after {}", claim_state(claim.state()), describe_claim(claim)),
    };
    let waiting = match lock.waiter_count {
        0 => String::new(),
        count => format!(", {count} waiting"),
    };
    format!("rev {revision}  {}  {who}{waiting}", plain(&lock.name))
}

fn happened(event: &Event) -> String {
    let claim = event.claim.clone().unwrap_or_default();
    let who = describe_claim(&claim);
    let held = claim.token != 0;
    let why = why(event);
    let mut what = match event.r#type() {
        EventType::Queued => format!("{who} waits for it"),
        EventType::Granted => format!("granted to {who}, token {}", claim.token),
        EventType::Lingering => {
            format!("{why}: {who} gave it back before its minimum hold was over, token {}", claim.token)
        }
        EventType::Ended if held => format!("{why}: {who} no longer holds it, token {}", claim.token),
        EventType::Ended => format!("{why}: {who} no longer waits for it"),
        EventType::Unspecified => "something that this version does not know".to_owned(),
    };
    if event.vacant && event.r#type() != EventType::Queued {
        what.push_str("; nobody holds it");
    }
    let time = match event.time.and_then(|time| SystemTime::try_from(time).ok()) {
        Some(time) => format!("{}  ", humantime::format_rfc3339_millis(time)),
        None => String::new(),
    };
    format!("{time}rev {}  {}  {what}", event.revision, plain(&event.name))
}

fn why(event: &Event) -> String {
    let reason = match event.end_reason() {
        EndReason::Released => "released",
        EndReason::Expired => "expired",
        EndReason::Disconnected => "disconnected",
        EndReason::Closed => "closed",
        EndReason::Evicted => "evicted",
        EndReason::Transferred => "transferred",
        EndReason::Unspecified => "ended",
    };
    let mut text = reason.to_owned();
    if !event.operator.is_empty() {
        text.push_str(&format!(" by {}", plain(&event.operator)));
    }
    if !event.note.is_empty() {
        text.push_str(&format!(" ({})", plain(&event.note)));
    }
    text
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::{Claim, Events, HistoryGone, Progress, Snapshot};

    use super::*;

    fn told(kind: Kind) -> Vec<String> {
        lines(&WatchResponse { revision: 45, kind: Some(kind) })
    }

    fn event(kind: EventType) -> Event {
        Event {
            revision: 44,
            name: "leader".into(),
            r#type: kind.into(),
            claim: Some(Claim { token: 41, session_id: "s1".into(), owner: "host-a".into(), ..Claim::default() }),
            time: Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 5_000_000 }),
            ..Event::default()
        }
    }

    fn line(event: Event) -> String {
        told(Kind::Events(Events { events: vec![event], ..Events::default() })).concat()
    }

    #[test]
    fn a_grant_says_to_whom_and_when() {
        assert_eq!(
            line(event(EventType::Granted)),
            "2023-11-14T22:13:20.005Z  rev 44  leader  granted to host-a (session s1), token 41"
        );
    }

    #[test]
    fn an_end_says_why_and_that_nobody_holds_it() {
        let mut ended = event(EventType::Ended);
        ended.set_end_reason(EndReason::Evicted);
        (ended.operator, ended.note, ended.vacant) = ("anna".into(), "host is gone".into(), true);
        let text = line(ended);
        assert!(text.contains("evicted by anna (host is gone): host-a (session s1) no longer holds it"), "{text}");
        assert!(text.ends_with("; nobody holds it"), "{text}");
    }

    #[test]
    fn a_waiter_that_leaves_is_no_holder() {
        let mut left = event(EventType::Ended);
        left.set_end_reason(EndReason::Expired);
        left.claim = Some(Claim { session_id: "s2".into(), ..Claim::default() });
        assert!(line(left).ends_with("expired: session s2 no longer waits for it"));
    }

    #[test]
    fn a_snapshot_says_how_things_are() {
        let idle = Lock { name: "leader".into(), ..Lock::default() };
        let snapshot = Snapshot { locks: vec![idle], ..Snapshot::default() };
        assert_eq!(told(Kind::Snapshot(snapshot)), ["rev 45  leader  nobody holds it"]);
        assert_eq!(told(Kind::Snapshot(Snapshot::default())), ["rev 45  no lock is held or waited for"]);
    }

    #[test]
    fn progress_is_quiet_and_gaps_are_not() {
        assert!(told(Kind::Progress(Progress {})).is_empty());
        let gone = HistoryGone { cause: HistoryGoneCause::Lost.into() };
        assert!(told(Kind::HistoryGone(gone)).concat().contains("the database lost it"));
    }
}
