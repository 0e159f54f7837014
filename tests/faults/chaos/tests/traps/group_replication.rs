//! Tests of Group Replication's pitfalls: a primary that has lost its group still serves reads, as does, with
//! `group_replication_consistency=EVENTUAL`, a new one that has not yet applied the commits of the old one.

use tenure_core::Revision;
use tenure_harness::{GroupReplication, wait_until};
use tenure_server::store::{StoreOptions, open};
use tokio::time::timeout;

use super::{DEADLINE, batch, store};

/// The last one has a failed member replaced as soon as it is missed.
const SETTINGS: [&str; 2] = ["--group-replication-consistency=EVENTUAL", "--group-replication-member-expel-timeout=0"];

const IS_ELECTED: &str = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
    WHERE member_id = @@server_uuid AND member_role = 'PRIMARY'";

/// A user without any right of an administrator.
const USER: &str = "CREATE DATABASE tenure; CREATE USER tenure; GRANT ALL ON tenure.* TO tenure";

fn url(group: &GroupReplication, members: &[usize]) -> String {
    let hosts: Vec<String> = members.iter().map(|member| format!("127.0.0.1:{}", group.port(*member))).collect();
    format!("mysql://tenure@{}/tenure", hosts.join(","))
}

#[tokio::test(flavor = "multi_thread")]
async fn outdated_member_of_a_group_is_not_read() {
    let mut group = GroupReplication::start(3, &SETTINGS).await.expect("a group");
    group.execute(0, USER).await.expect("the user is created");
    let store = store(url(&group, &[0, 1, 2])).await;
    store.append(&batch(Revision(0), 1), false).await.expect("it is appended");

    for member in [1, 2] {
        group.pause(member).await.expect("it is running");
    }
    let opened = timeout(DEADLINE, open(&StoreOptions::new(url(&group, &[0])))).await.expect("in time");
    assert!(opened.is_err(), "a primary without its group was accepted");
    for member in [1, 2] {
        group.resume(member).expect("it was paused");
    }
    group.wait_until_online(0, 3).await.expect("all are back");

    group.execute(1, "SET GLOBAL group_replication_member_weight = 100").await.expect("it is preferred");
    wait_until(DEADLINE, "the member has the commit", async || {
        group.count(1, "SELECT COUNT(*) FROM tenure.batches").await.is_ok_and(|count| count == 1)
    })
    .await;
    let paused = group.pause_replication(1).await.expect("it applies nothing");
    store.append(&batch(Revision(1), 2), false).await.expect("it is appended");
    group.kill(0).await.expect("the primary is killed");
    wait_until(DEADLINE, "another primary is elected", async || {
        group.count(1, IS_ELECTED).await.is_ok_and(|count| count == 1)
    })
    .await;
    let read = async || timeout(DEADLINE, store.read("default", Revision(0), 10)).await.expect("in time");
    // On a connection from before, and on a new one. MySQL leaves it read only until then, whatever the setting.
    for _ in 0..2 {
        let revision = read().await.map(|tail| tail.head.revision);
        assert_ne!(revision, Ok(Revision(1)), "outdated state");
    }
    drop(paused);
    wait_until(DEADLINE, "the new primary shows all commits", async || {
        read().await.is_ok_and(|tail| tail.head.revision == Revision(2))
    })
    .await;
}
