//! Formats a lock's history as text.

use tenure_proto::v1::{
    EndReason, HistoryEntry, HistoryGone, HistoryGoneCause, HoldRecord, ListHistoryResponse, history_entry::Kind,
};

use super::Shown;
use super::locks::or_dash;
use super::style::{Tint, escape};
use super::table::{Cell, Table, column, ids, numbers, tinted, unbroken};
use super::terms::{by, end_reason};
use super::time::{rough, time};

/// The history of a lock.
pub fn history(name: &str, listed: &ListHistoryResponse) -> Shown {
    let rest = match (listed.next_page_token.is_empty(), listed.kept_since) {
        (false, _) => "more entries exist: raise --limit".to_owned(),
        (true, Some(_)) => format!("history is kept since {}", time(listed.kept_since)),
        (true, None) => "the namespace has no history".to_owned(),
    };
    if listed.entries.is_empty() {
        return Shown::nothing(format!("{}: no known holds; {rest}", escape(name)));
    }
    Shown { text: Some(entries(&listed.entries)), note: Some(rest) }
}

/// Entries of a history, one per row.
pub fn entries(entries: &[HistoryEntry]) -> String {
    let mut table = Table::new([
        column("OWNER", 1),
        ids("SESSION", 5),
        numbers("TOKEN", 3),
        numbers("WAITED", 6),
        unbroken("GRANTED", 2),
        numbers("HELD", 3),
        numbers("PAUSE", 7),
        numbers("TTL", 8),
        unbroken("ENDED", 4),
        column("WHY", 1),
    ]);
    for entry in entries {
        match &entry.kind {
            Some(Kind::Hold(hold)) => {
                let why = match hold.ended_time {
                    None => tinted("holds it", Tint::Good),
                    Some(_) => tinted(why(hold), tint(hold.end_reason())),
                };
                table.row([
                    or_dash(&hold.owner).into(),
                    escape(&hold.session_id).into(),
                    hold.token.to_string().into(),
                    rough(hold.waited).into(),
                    time(hold.granted_time).into(),
                    rough(hold.held).into(),
                    rough(hold.longest_pause).into(),
                    rough(hold.ttl).into(),
                    time(hold.ended_time).into(),
                    why,
                ]);
            }
            Some(Kind::Loss(loss)) => {
                let mut row = [const { "-" }; 10].map(Cell::from);
                row[8] = time(loss.time).into();
                let lost = format!("the database lost the history after revision {}", loss.after_revision);
                row[9] = tinted(lost, Tint::Bad);
                table.row(row);
            }
            None => {}
        }
    }
    table.finish()
}

/// Highlights unplanned ends.
fn tint(reason: EndReason) -> Tint {
    match reason {
        EndReason::Expired | EndReason::Disconnected | EndReason::Evicted => Tint::Notice,
        EndReason::Released | EndReason::Closed | EndReason::Transferred | EndReason::Unspecified => Tint::Plain,
    }
}

/// The reason why a hold ended, with the operator and note.
pub fn why(hold: &HoldRecord) -> String {
    format!("{}{}", end_reason(hold.end_reason()), by(&hold.operator, &hold.note))
}

/// Reports that a watch cannot resume from its last revision.
pub fn history_gone(history_gone: &HistoryGone) -> String {
    let why = match history_gone.cause() {
        HistoryGoneCause::Lost => "the database lost it",
        _ => "it was dropped as too old",
    };
    format!("the history after the last revision is not available: {why}; current state:")
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::HistoryLoss;

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
        entries(&listed).lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn hold_is_a_row_with_the_reason_of_its_end() {
        let lasts = HoldRecord { ended_time: None, ..hold() };
        assert_eq!(
            rows(vec![Kind::Hold(lasts), Kind::Hold(hold())]),
            [
                "host-a s1 41 0s 2023-11-14T22:13:20Z 1h1m - 10s - holds it",
                "host-a s1 41 0s 2023-11-14T22:13:20Z 1h1m - 10s 2023-11-14T23:14:21Z \
                evicted by anna (host\\u{1b} is gone)",
            ]
        );
    }

    #[test]
    fn loss_of_history_is_shown() {
        let rows = rows(vec![Kind::Loss(HistoryLoss { after_revision: 9, ..HistoryLoss::default() })]);
        assert!(rows[0].ends_with("the database lost the history after revision 9"), "{rows:?}");
    }

    #[test]
    fn history_shows_how_far_back_it_goes() {
        let at = Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 0 });
        let none = ListHistoryResponse { kept_since: at, ..ListHistoryResponse::default() };
        let nothing = "job: no known holds; history is kept since 2023-11-14T22:13:20Z";
        assert_eq!(history("job", &none), Shown::nothing(nothing));
        let entries = vec![HistoryEntry { kind: Some(Kind::Hold(hold())) }];
        let part = ListHistoryResponse { entries, next_page_token: "more".into(), ..ListHistoryResponse::default() };
        assert_eq!(history("job", &part).note.unwrap(), "more entries exist: raise --limit");
    }
}
