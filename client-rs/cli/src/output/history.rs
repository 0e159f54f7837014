//! A lock's history as text.

use std::time::{Duration, SystemTime};

use tenure_proto::v1::{EndReason, HistoryEntry, HistoryLoss, HoldRecord, ListHistoryResponse, history_entry::Kind};

use super::locks::or_dash;
use super::style::{finish, plain, table};

/// The history of a lock.
pub fn history(name: &str, listed: &ListHistoryResponse) -> String {
    let rest = match (listed.next_page_token.is_empty(), listed.kept_since) {
        (false, _) => "there is more: ask with a higher --limit".to_owned(),
        (true, Some(_)) => format!("history is kept since {}", time(listed.kept_since)),
        (true, None) => "the namespace has no history".to_owned(),
    };
    if listed.entries.is_empty() {
        return format!("{}: nobody holds it or is known to have held it\n{rest}", plain(name));
    }
    format!("{}\n\n{rest}", entries(listed.entries.iter()))
}

/// Entries of a history, a row each.
pub fn entries<'a>(entries: impl Iterator<Item = &'a HistoryEntry>) -> String {
    let mut table = table(&["OWNER", "SESSION", "TOKEN", "WAITED", "GRANTED", "HELD", "PAUSE", "TTL", "ENDED", "WHY"]);
    for entry in entries {
        match &entry.kind {
            Some(Kind::Hold(hold)) => {
                let ended = match hold.ended_time {
                    None => ["-".to_owned(), "holds it".to_owned()],
                    ended => [time(ended), why(hold)],
                };
                let [ended, why] = ended;
                table.add_row([
                    or_dash(&hold.owner),
                    plain(&hold.session_id),
                    hold.token.to_string(),
                    rough(hold.waited),
                    time(hold.granted_time),
                    rough(hold.held),
                    rough(hold.longest_pause),
                    rough(hold.ttl),
                    ended,
                    why,
                ]);
            }
            Some(Kind::Loss(loss)) => {
                let mut row = vec!["-".to_owned(); 8];
                row.extend([time(loss.time), lost(loss)]);
                table.add_row(row);
            }
            None => {}
        }
    }
    finish(&table)
}

/// Why a hold ended, and who ended it.
pub fn why(hold: &HoldRecord) -> String {
    let mut text = match hold.end_reason() {
        EndReason::Released => "released",
        EndReason::Expired => "expired",
        EndReason::Disconnected => "disconnected",
        EndReason::Closed => "closed",
        EndReason::Evicted => "evicted",
        EndReason::Transferred => "transferred",
        EndReason::Unspecified => "ended",
    }
    .to_owned();
    if !hold.operator.is_empty() {
        text.push_str(&format!(" by {}", plain(&hold.operator)));
    }
    if !hold.note.is_empty() {
        text.push_str(&format!(" ({})", plain(&hold.note)));
    }
    text
}

fn lost(loss: &HistoryLoss) -> String {
    format!("the database lost history: what followed revision {} is not known", loss.after_revision)
}

/// A moment, to the second.
pub fn time(time: Option<prost_types::Timestamp>) -> String {
    let time = time.and_then(|time| SystemTime::try_from(time).ok());
    time.map_or_else(|| "-".to_owned(), |time| humantime::format_rfc3339_seconds(time).to_string())
}

/// A duration as precisely as people want it: ms of what is shorter than a minute, else seconds.
pub fn rough(duration: Option<prost_types::Duration>) -> String {
    let Some(duration) = duration.and_then(|duration| Duration::try_from(duration).ok()) else { return "-".to_owned() };
    let shown = match duration.as_secs() {
        0..60 => Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        seconds => Duration::from_secs(seconds),
    };
    humantime::format_duration(shown).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold() -> HoldRecord {
        let seconds = |seconds| Some(prost_types::Duration { seconds, nanos: 5_000_000 });
        let at = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
        HoldRecord {
            session_id: "s1".into(),
            owner: "host-a".into(),
            token: 41,
            waited: Some(prost_types::Duration::default()),
            granted_time: at(1_700_000_000),
            held: seconds(3_661),
            ttl: seconds(10),
            ended_time: at(1_700_003_661),
            end_reason: EndReason::Evicted.into(),
            operator: "anna".into(),
            note: "host\u{1b} is gone".into(),
            ..HoldRecord::default()
        }
    }

    fn rows(kinds: Vec<Kind>) -> Vec<String> {
        let listed: Vec<HistoryEntry> = kinds.into_iter().map(|kind| HistoryEntry { kind: Some(kind) }).collect();
        entries(listed.iter()).lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_hold_is_a_row_that_says_why_it_ended() {
        let lasts = HoldRecord { ended_time: None, ..hold() };
        assert_eq!(
            rows(vec![Kind::Hold(lasts), Kind::Hold(hold())]),
            [
                "host-a s1 41 0s 2023-11-14T22:13:20Z 1h 1m 1s - 10s 5ms - holds it",
                "host-a s1 41 0s 2023-11-14T22:13:20Z 1h 1m 1s - 10s 5ms 2023-11-14T23:14:21Z \
                evicted by anna (host\\u{1b} is gone)",
            ]
        );
    }

    #[test]
    fn a_loss_of_history_is_not_passed_over() {
        let rows = rows(vec![Kind::Loss(HistoryLoss { after_revision: 9, ..HistoryLoss::default() })]);
        assert!(rows[0].ends_with("the database lost history: what followed revision 9 is not known"), "{rows:?}");
    }

    #[test]
    fn it_says_how_far_back_it_goes() {
        let at = Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 0 });
        let none = ListHistoryResponse { kept_since: at, ..ListHistoryResponse::default() };
        let text = history("job", &none);
        assert_eq!(
            text,
            "job: nobody holds it or is known to have held it\nhistory is kept since 2023-11-14T22:13:20Z"
        );
        let entries = vec![HistoryEntry { kind: Some(Kind::Hold(hold())) }];
        let part = ListHistoryResponse { entries, next_page_token: "more".into(), ..ListHistoryResponse::default() };
        assert!(history("job", &part).ends_with("there is more: ask with a higher --limit"));
    }
}
