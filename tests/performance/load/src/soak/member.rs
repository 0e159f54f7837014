//! A program that is a group member: while it leads, it divides the work among all members.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_chaos::now;
use tenure_checker::{Entry, Sharing, Task as Assigned, ValidHold};
use tenure_client::{Client, Membership};
use tokio::time::{sleep, timeout};

use super::task::Task;

/// The interval at which a member records its status.
const SAMPLE: Duration = Duration::from_millis(250);

/// How long a member stays, in ms.
const STAYS: std::ops::Range<u64> = 500..8_000;

/// Runs until the task is over.
pub async fn run(client: Client, group: String, task: Task, mut rng: StdRng) {
    while task.is_running() {
        let joined = client.group(&group).ttl(Duration::from_secs(5)).join().await;
        let Some(membership) = task.counted("groups joined", joined) else {
            sleep(SAMPLE).await;
            continue;
        };
        let stays = Duration::from_millis(rng.random_range(STAYS));
        // Ends by the timeout.
        let _ = timeout(stays, async {
            tokio::join!(lead(&task, &membership), record_status(&task, &membership));
        })
        .await;
        if rng.random_range(0..4) == 0 {
            let (expected, config) = (membership.standing().group.config_revision, rng.random_range(0..100_u32));
            let set = client.configure_group(&group, Some(&config.to_string()), Some(expected)).await;
            task.counted("configs set", set);
        }
        if rng.random_range(0..4) > 0 {
            task.counted("groups left", membership.leave().await);
        }
    }
}

/// Divides the work whenever this member leads.
async fn lead(task: &Task, membership: &Membership) {
    let lead = membership.lead(|group| {
        task.count("work assignments");
        group.assign(|index, _| format!("part {index}"))
    });
    let Err(error) = lead.await;
    task.counted::<()>("leading", Err(error));
}

/// Records the status of a member.
async fn record_status(task: &Task, membership: &Membership) {
    loop {
        let at = now();
        let standing = membership.standing();
        if standing.lost.is_some() {
            return *task.notes().wrong.entry("a membership is lost".to_owned()).or_default() += 1;
        }
        if let Some(token) = standing.token() {
            let names = vec![format!("group {}", membership.group_name())];
            let hold = ValidHold { at, names, token, sharing: Sharing::Exclusive };
            task.recorder.write(Entry::ValidHold(hold));
        }
        if let Some(assignment) = standing.assignment() {
            let (member, revision) = (standing.number, standing.group.assignments_revision);
            let assigned = Assigned { member, revision, assignment: assignment.to_owned() };
            task.recorder.write(Entry::Task(assigned));
        }
        sleep(SAMPLE).await;
    }
}
