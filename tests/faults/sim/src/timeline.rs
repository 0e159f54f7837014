//! Prints a run in order of time, to find out how a promise was broken.

use std::time::Duration;

use tenure_checker::{History, Moment, Past};

/// Client operations and observations, commits, losses and faults: one line each, in order of time.
#[must_use]
pub fn lines(history: &History, past: &Past, faults: &[(Duration, String)]) -> Vec<String> {
    let mut lines: Vec<(Duration, String)> = faults.to_vec();
    for call in &history.calls {
        lines.push((call.start, format!("{} requests {:?} {:?}", call.session, call.kind, call.names)));
        lines.push((
            call.end,
            format!("{} gets the reply to {:?} {:?}: {:?}", call.session, call.kind, call.names, call.outcome),
        ));
    }
    for hold in &history.valid_holds {
        lines.push((hold.at, format!("{:?} are held, with token {}", hold.names, hold.token)));
    }
    for commit in &past.commits {
        let (Moment::At(at) | Moment::By(at)) = commit.moment else { continue };
        for recorded in &commit.batch.events {
            lines.push((at, format!("{} commits {} {:?}", commit.batch.server, recorded.revision, recorded.event)));
        }
    }
    for loss in &past.losses {
        lines.push((loss.at, format!("the database loses what came after {}", loss.after)));
    }
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(at, line)| format!("{:>10.6} {line}", at.as_secs_f64())).collect()
}
