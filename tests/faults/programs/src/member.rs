//! A program that joins a group. While it leads, it divides the work among all members.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_checker::{Entry, Sharing, Task as Assigned, ValidHold};
use tenure_client::{Client, Membership, Standing};
use tokio::time::{sleep, timeout};

use crate::Task;

/// The group that all such programs join.
const GROUP: &str = "team";

/// Interval between checks of a member's standing.
const CHECK_INTERVAL: Duration = Duration::from_millis(40);

/// Runs until the task's time is over.
pub async fn run(client: Client, task: Task, mut rng: StdRng) {
    while task.environment.may_continue() {
        let ttl = Duration::from_millis(rng.random_range(600..2_000));
        let Ok(membership) = client.group(GROUP).ttl(ttl).join().await else {
            task.pause().await;
            continue;
        };
        let stays = Duration::from_millis(rng.random_range(200..5_000));
        let working = timeout(stays, async {
            let leading = membership.lead(|group| group.assign(|number, _| format!("part {number}")));
            tokio::select! {
                _ = leading => {}
                () = record_standing(&task, &membership) => {}
            }
        });
        let _ = working.await;
        if rng.random_range(0..6) == 0 {
            let group = membership.standing().group;
            let _ = client.configure_group(GROUP, Some("other"), Some(group.config_revision)).await;
        }
        if rng.random_range(0..3) > 0 {
            let _ = membership.leave().await;
        }
    }
}

/// Records a member's standing until its membership is lost.
async fn record_standing(task: &Task, membership: &Membership) {
    loop {
        let at = task.environment.now();
        let standing = membership.standing();
        if standing.lost.is_some() {
            return;
        }
        record(task, at, &standing);
        sleep(CHECK_INTERVAL).await;
    }
}

fn record(task: &Task, at: Duration, standing: &Standing) {
    if let Some(token) = standing.token() {
        let names = vec![format!("group {GROUP}")];
        task.environment.write(Entry::ValidHold(ValidHold { at, names, token, sharing: Sharing::Exclusive }));
    }
    if let Some(assignment) = standing.assignment() {
        let (member, revision) = (standing.number, standing.group.assignments_revision);
        task.environment.write(Entry::Task(Assigned { member, revision, assignment: assignment.to_owned() }));
    }
}
