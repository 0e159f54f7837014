//! Tests of real processes that lead by turns, hand over as planned, reject a handover, and deadlock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_e2e::{CommandLine, Store, Watcher, on_every_store, tries};
use tenure_harness::{Tenured, wait_until};
use tokio::process::Child;

on_every_store!(
    leaders_hand_over_by_turns_without_a_gap,
    a_better_candidate_gets_the_lead_once_it_has_settled,
    a_holder_that_ignores_the_request_keeps_the_lock,
    a_command_that_does_not_listen_is_killed_before_its_time_is_over,
    two_that_wait_for_each_other_are_shown
);

const PATIENCE: Duration = Duration::from_secs(30);

/// A server, its command line, and a file in which leaders record their actions.
struct Scene {
    command_line: CommandLine,
    diary: PathBuf,
    _folder: Arc<tempfile::TempDir>,
    _server: Tenured,
}

impl Scene {
    async fn on(store: Store) -> Self {
        Self::around(store.server().await.unwrap(), Arc::new(tempfile::tempdir().unwrap()))
    }

    fn around(server: Tenured, folder: Arc<tempfile::TempDir>) -> Self {
        let command_line = CommandLine::new(&[server.url()]).unwrap();
        Self { command_line, diary: folder.path().join("diary"), _folder: folder, _server: server }
    }

    /// Starts a candidate that records when its command begins, and when it ends on request.
    fn elect(&self, owner: &str, options: &[&str]) -> Child {
        let diary = self.diary.display();
        let script = format!(
            "trap 'echo ended $TENURE_FENCING_TOKEN >> {diary}; exit 0' TERM; \
             echo began $TENURE_FENCING_TOKEN >> {diary}; while :; do sleep 0.05; done"
        );
        self.elect_to_run(&script, owner, options)
    }

    fn elect_to_run(&self, script: &str, owner: &str, options: &[&str]) -> Child {
        let all = [&["elect", "leader", "--owner", owner], options, &["--", "sh", "-c", script]].concat();
        self.command_line.start(&all).unwrap()
    }

    fn diary(&self) -> Vec<String> {
        std::fs::read_to_string(&self.diary).unwrap_or_default().lines().map(ToOwned::to_owned).collect()
    }

    /// Waits until the diary has this many entries.
    async fn noted(&self, count: usize) -> Vec<String> {
        wait_until(PATIENCE, &format!("{count} entries in the diary"), async || self.diary().len() >= count).await;
        self.diary()
    }
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// Checks that the lock is held at each revision from the first grant on, by one holder at a time, under rising tokens.
fn held_without_a_gap(watcher: &Watcher) {
    let mut holder = 0;
    for event in watcher.events() {
        assert_eq!(event["vacantNames"], serde_json::json!([]), "{event}");
        let token = number(&event["claim"]["token"]);
        match event["type"].as_str().unwrap() {
            "EVENT_TYPE_GRANTED" => assert_eq!(std::mem::replace(&mut holder, token), 0, "{event}"),
            "EVENT_TYPE_TRANSFERRED" => {
                assert_eq!(number(&event["previous"]["token"]), holder, "{event}");
                assert!(token > holder, "{event}");
                holder = token;
            }
            "EVENT_TYPE_ENDED" => assert_eq!(token, 0, "only waiters leave: {event}"),
            _ => {}
        }
    }
    assert!(holder > 0, "nobody ever held it");
}

/// Checks that no command began before the previous one had ended.
fn one_at_a_time(diary: &[String]) {
    for pair in diary.windows(2) {
        let token = |line: &str| line.split_once(' ').unwrap().1.to_owned();
        match pair[0].split_once(' ').unwrap().0 {
            "began" => assert_eq!(pair[1], format!("ended {}", token(&pair[0])), "{diary:?}"),
            _ => assert!(pair[1].starts_with("began"), "{diary:?}"),
        }
    }
}

async fn leaders_hand_over_by_turns_without_a_gap(store: Store) {
    let scene = Scene::on(store).await;
    let watcher = scene.command_line.watch("leader").await.unwrap();
    let _ann = scene.elect("ann", &[]);
    scene.noted(1).await;
    let _bob = scene.elect("bob", &[]);
    let turns = usize::try_from(tries()).unwrap();
    let mut leads = ["ann", "bob"];
    for turn in 0..turns {
        // The former leader is a waiter again.
        scene.command_line.waiters("leader", 1).await;
        let note = format!("turn {turn}");
        let done = scene.command_line.json(0, &["transfer", "leader", "--operator", "eve", "--note", &note]).await;
        assert_eq!([&done["previous"]["owner"], &done["claim"]["owner"]], leads, "{done}");
        assert_eq!(done["token"], done["claim"]["token"]);
        leads.reverse();
        // Another candidate began, under the token that the operator was shown.
        let diary = scene.noted(2 * turn + 3).await;
        assert_eq!(diary.last(), Some(&format!("began {}", number(&done["token"]))));
    }
    let transferred = watcher.wait_for(turns, "TRANSFERRED").await;
    assert_eq!(transferred.len(), turns, "{transferred:#?}");
    let started = watcher.of_type("TRANSFER_STARTED");
    assert_eq!(started.len(), turns, "{started:#?}");
    assert_eq!([&started[0]["operator"], &started[0]["note"]], ["eve", "turn 0"]);
    held_without_a_gap(&watcher);
    one_at_a_time(&scene.diary());
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_successor_and_operator_may_be_with_different_servers() {
    let options = Store::Postgres.fresh().await.unwrap();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let mut scenes = Vec::new();
    for _ in 0..3 {
        scenes.push(Scene::around(Tenured::start(&options).await.unwrap(), Arc::clone(&folder)));
    }
    let [of_ann, of_bob, of_eve] = &scenes[..] else { panic!("not three") };
    let watcher = of_eve.command_line.watch("leader").await.unwrap();
    let _ann = of_ann.elect("ann", &[]);
    of_ann.noted(1).await;
    let _bob = of_bob.elect("bob", &[]);
    let turns = usize::try_from(tries()).unwrap();
    for turn in 0..turns {
        of_eve.command_line.waiters("leader", 1).await;
        of_eve.command_line.json(0, &["transfer", "leader"]).await;
        of_eve.noted(2 * turn + 3).await;
    }
    assert_eq!(watcher.wait_for(turns, "TRANSFERRED").await.len(), turns);
    held_without_a_gap(&watcher);
    one_at_a_time(&of_eve.diary());
}

async fn a_better_candidate_gets_the_lead_once_it_has_settled(store: Store) {
    let scene = Scene::on(store).await;
    let settling = Duration::from_secs(1);
    scene.command_line.json(0, &["set", "leader", "--preempt", "--settling", "1s"]).await;
    let watcher = scene.command_line.watch("leader").await.unwrap();
    let _ann = scene.elect("ann", &[]);
    scene.noted(1).await;
    let asked = Instant::now();
    let _equal = scene.elect("equal", &["--priority", "0"]);
    let _bob = scene.elect("bob", &["--priority", "5"]);
    let transferred = watcher.wait_for(1, "TRANSFERRED").await;
    assert!(asked.elapsed() >= settling, "it did not settle: {:?}", asked.elapsed());
    assert_eq!([&transferred[0]["previous"]["owner"], &transferred[0]["claim"]["owner"]], ["ann", "bob"]);
    assert_eq!(watcher.of_type("TRANSFER_STARTED")[0]["operator"], "", "nobody asked for it");
    // Both others wait, and neither is better.
    scene.command_line.waiters("leader", 2).await;
    let diary = scene.noted(3).await;
    one_at_a_time(&diary);
    held_without_a_gap(&watcher);
    assert_eq!(watcher.of_type("TRANSFERRED").len(), 1);
}

async fn a_holder_that_ignores_the_request_keeps_the_lock(store: Store) {
    let scene = Scene::on(store).await;
    let watcher = scene.command_line.watch("leader").await.unwrap();
    let _ann = scene.elect("ann", &["--on-transfer", "ignore"]);
    let diary = scene.noted(1).await;
    let _bob = scene.elect("bob", &[]);
    scene.command_line.waiters("leader", 1).await;
    let kept = scene.command_line.json(1, &["transfer", "leader", "--drain", "300ms"]).await;
    assert_eq!(kept["error"]["reason"], "TRANSFER_NOT_CONFIRMED");
    watcher.wait_for(1, "TRANSFER_CANCELLED").await;
    let lock = scene.command_line.json(0, &["get", "leader"]).await;
    assert_eq!(lock["lock"]["holders"][0]["owner"], "ann");
    assert_eq!(format!("began {}", number(&lock["lock"]["holders"][0]["token"])), diary[0]);
    assert_eq!(scene.diary(), diary, "its command was left alone");
    held_without_a_gap(&watcher);
    assert_eq!(watcher.of_type("TRANSFERRED"), Vec::<Value>::new());
}

async fn a_command_that_does_not_listen_is_killed_before_its_time_is_over(store: Store) {
    let scene = Scene::on(store).await;
    let watcher = scene.command_line.watch("leader").await.unwrap();
    let diary = scene.diary.display();
    let deaf = format!("trap '' TERM; echo began $TENURE_FENCING_TOKEN >> {diary}; while :; do sleep 0.05; done");
    let _ann = scene.elect_to_run(&deaf, "ann", &[]);
    scene.noted(1).await;
    let _bob = scene.elect("bob", &[]);
    scene.command_line.waiters("leader", 1).await;
    let asked = Instant::now();
    let done = scene.command_line.json(0, &["transfer", "leader", "--drain", "4s"]).await;
    // The transfer itself reports that it was in time.
    assert!(asked.elapsed() > Duration::from_secs(1), "it was killed long before: {:?}", asked.elapsed());
    let diary = scene.noted(2).await;
    assert_eq!(diary[1], format!("began {}", number(&done["token"])));
    watcher.wait_for(1, "TRANSFERRED").await;
    held_without_a_gap(&watcher);
}

/// Acquires one lock, and once the other script has the other lock, waits for that.
fn crosswise(session: &str, (first, second): (&str, &str), folder: &Path) -> String {
    let (mine, theirs) = (folder.join(first), folder.join(second));
    let (mine, theirs) = (mine.display(), theirs.display());
    format!(
        "$TENURE acquire {first} --session {session} --ttl 1m && : > {mine} && \
         while ! test -e {theirs}; do sleep 0.01; done; \
         exec $TENURE acquire {second} --session {session} --wait 1h"
    )
}

async fn two_that_wait_for_each_other_are_shown(store: Store) {
    let scene = Scene::on(store).await;
    let folder = tempfile::tempdir().unwrap();
    let none = scene.command_line.json(0, &["blocked", "--deadlocks"]).await;
    assert_eq!(none["blocked"], serde_json::json!([]));
    let _ann = scene.command_line.start_script(&crosswise("ann", ("a", "b"), folder.path())).unwrap();
    let mut bob = scene.command_line.start_script(&crosswise("bob", ("b", "a"), folder.path())).unwrap();
    scene.command_line.waiters("a", 1).await;
    scene.command_line.waiters("b", 1).await;
    let shown = scene.command_line.json(1, &["blocked", "--deadlocks"]).await;
    let circles: Vec<&Value> =
        shown["blocked"].as_array().unwrap().iter().map(|blocked| &blocked["claim"]["deadlock"]).collect();
    assert_eq!(circles.len(), 2, "{shown}");
    assert!(circles.contains(&&serde_json::json!(["ann", "bob"])), "{shown}");
    assert!(circles.contains(&&serde_json::json!(["bob", "ann"])), "{shown}");
    // Closing one session lets the other continue.
    scene.command_line.json(0, &["close", "ann"]).await;
    scene.command_line.json(0, &["blocked", "--deadlocks"]).await;
    let ended = tokio::time::timeout(PATIENCE, bob.wait()).await.expect("it goes on");
    assert_eq!(ended.unwrap().code(), Some(0));
}
