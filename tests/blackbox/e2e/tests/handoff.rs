//! Tests of real processes that lead in turns, hand over as planned, reject a handover, and deadlock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_e2e::{CommandLine, Store, Watcher, on_every_store, tries};
use tenure_harness::{Tenured, wait_until};
use tokio::process::Child;

on_every_store!(
    repeated_handoffs_have_no_gap,
    better_candidate_leads_after_settling,
    holder_that_ignores_a_transfer_keeps_the_lock,
    command_that_ignores_sigterm_is_killed_within_the_drain,
    deadlock_of_two_sessions_is_shown
);

const PATIENCE: Duration = Duration::from_secs(30);

/// A server, its command line, and a file in which leaders record their actions.
struct Setup {
    command_line: CommandLine,
    log: PathBuf,
    _folder: Arc<tempfile::TempDir>,
    _server: Tenured,
}

impl Setup {
    async fn start(store: Store) -> Self {
        Self::with(store.server().await.unwrap(), Arc::new(tempfile::tempdir().unwrap()))
    }

    fn with(server: Tenured, folder: Arc<tempfile::TempDir>) -> Self {
        let command_line = CommandLine::new(&[server.url()]).unwrap();
        Self { command_line, log: folder.path().join("log"), _folder: folder, _server: server }
    }

    /// Starts a candidate that records when its command begins, and when it ends on request.
    fn elect(&self, owner: &str, options: &[&str]) -> Child {
        let log = self.log.display();
        let script = format!(
            "trap 'echo ended $TENURE_FENCING_TOKEN >> {log}; exit 0' TERM; \
             echo began $TENURE_FENCING_TOKEN >> {log}; while :; do sleep 0.05; done"
        );
        self.elect_to_run(&script, owner, options)
    }

    fn elect_to_run(&self, script: &str, owner: &str, options: &[&str]) -> Child {
        let all = [&["elect", "leader", "--owner", owner], options, &["--", "sh", "-c", script]].concat();
        self.command_line.start(&all).unwrap()
    }

    fn log(&self) -> Vec<String> {
        std::fs::read_to_string(&self.log).unwrap_or_default().lines().map(ToOwned::to_owned).collect()
    }

    /// Waits until the log has this many entries.
    async fn wait_for_entries(&self, count: usize) -> Vec<String> {
        wait_until(PATIENCE, &format!("{count} entries in the log"), async || self.log().len() >= count).await;
        self.log()
    }
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// Checks that the lock is held at each revision from the first grant on, by one holder at a time, under rising tokens.
fn assert_held_without_a_gap(watcher: &Watcher) {
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
    assert!(holder > 0, "no session ever held the lock");
}

/// Checks that no command began before the previous one had ended.
fn assert_one_at_a_time(log: &[String]) {
    for pair in log.windows(2) {
        let token = |line: &str| line.split_once(' ').unwrap().1.to_owned();
        match pair[0].split_once(' ').unwrap().0 {
            "began" => assert_eq!(pair[1], format!("ended {}", token(&pair[0])), "{log:?}"),
            _ => assert!(pair[1].starts_with("began"), "{log:?}"),
        }
    }
}

async fn repeated_handoffs_have_no_gap(store: Store) {
    let setup = Setup::start(store).await;
    let watcher = setup.command_line.watch("leader").await.unwrap();
    let _ann = setup.elect("ann", &[]);
    setup.wait_for_entries(1).await;
    let _bob = setup.elect("bob", &[]);
    let turns = usize::try_from(tries()).unwrap();
    let mut leads = ["ann", "bob"];
    for turn in 0..turns {
        // The former leader is a waiter again.
        setup.command_line.waiters("leader", 1).await;
        let note = format!("turn {turn}");
        let done = setup.command_line.json(0, &["transfer", "leader", "--operator", "eve", "--note", &note]).await;
        assert_eq!([&done["previous"]["owner"], &done["claim"]["owner"]], leads, "{done}");
        assert_eq!(done["token"], done["claim"]["token"]);
        leads.reverse();
        // Another candidate began, under the token that the operator was shown.
        let log = setup.wait_for_entries(2 * turn + 3).await;
        assert_eq!(log.last(), Some(&format!("began {}", number(&done["token"]))));
    }
    let transferred = watcher.wait_for(turns, "TRANSFERRED").await;
    assert_eq!(transferred.len(), turns, "{transferred:#?}");
    let started = watcher.of_type("TRANSFER_STARTED");
    assert_eq!(started.len(), turns, "{started:#?}");
    assert_eq!([&started[0]["operator"], &started[0]["note"]], ["eve", "turn 0"]);
    assert_held_without_a_gap(&watcher);
    assert_one_at_a_time(&setup.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn handoff_works_across_servers() {
    let options = Store::Postgres.fresh().await.unwrap();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let mut setups = Vec::new();
    for _ in 0..3 {
        setups.push(Setup::with(Tenured::start(&options).await.unwrap(), Arc::clone(&folder)));
    }
    let [of_ann, of_bob, of_eve] = &setups[..] else { panic!("not three") };
    let watcher = of_eve.command_line.watch("leader").await.unwrap();
    let _ann = of_ann.elect("ann", &[]);
    of_ann.wait_for_entries(1).await;
    let _bob = of_bob.elect("bob", &[]);
    let turns = usize::try_from(tries()).unwrap();
    for turn in 0..turns {
        of_eve.command_line.waiters("leader", 1).await;
        of_eve.command_line.json(0, &["transfer", "leader"]).await;
        of_eve.wait_for_entries(2 * turn + 3).await;
    }
    assert_eq!(watcher.wait_for(turns, "TRANSFERRED").await.len(), turns);
    assert_held_without_a_gap(&watcher);
    assert_one_at_a_time(&of_eve.log());
}

async fn better_candidate_leads_after_settling(store: Store) {
    let setup = Setup::start(store).await;
    let settling = Duration::from_secs(1);
    setup.command_line.json(0, &["set", "leader", "--preempt", "--settling", "1s"]).await;
    let watcher = setup.command_line.watch("leader").await.unwrap();
    let _ann = setup.elect("ann", &[]);
    setup.wait_for_entries(1).await;
    let start = Instant::now();
    let _equal = setup.elect("equal", &["--priority", "0"]);
    let _bob = setup.elect("bob", &["--priority", "5"]);
    let transferred = watcher.wait_for(1, "TRANSFERRED").await;
    assert!(start.elapsed() >= settling, "transferred before the settling time: {:?}", start.elapsed());
    assert_eq!([&transferred[0]["previous"]["owner"], &transferred[0]["claim"]["owner"]], ["ann", "bob"]);
    assert_eq!(watcher.of_type("TRANSFER_STARTED")[0]["operator"], "", "no operator requested it");
    // Both others wait, and neither is better.
    setup.command_line.waiters("leader", 2).await;
    let log = setup.wait_for_entries(3).await;
    assert_one_at_a_time(&log);
    assert_held_without_a_gap(&watcher);
    assert_eq!(watcher.of_type("TRANSFERRED").len(), 1);
}

async fn holder_that_ignores_a_transfer_keeps_the_lock(store: Store) {
    let setup = Setup::start(store).await;
    let watcher = setup.command_line.watch("leader").await.unwrap();
    let _ann = setup.elect("ann", &["--on-transfer", "ignore"]);
    let log = setup.wait_for_entries(1).await;
    let _bob = setup.elect("bob", &[]);
    setup.command_line.waiters("leader", 1).await;
    let kept = setup.command_line.json(1, &["transfer", "leader", "--drain", "300ms"]).await;
    assert_eq!(kept["error"]["reason"], "TRANSFER_NOT_CONFIRMED");
    watcher.wait_for(1, "TRANSFER_CANCELLED").await;
    let lock = setup.command_line.json(0, &["get", "leader"]).await;
    assert_eq!(lock["lock"]["holders"][0]["owner"], "ann");
    assert_eq!(format!("began {}", number(&lock["lock"]["holders"][0]["token"])), log[0]);
    assert_eq!(setup.log(), log, "its command continues");
    assert_held_without_a_gap(&watcher);
    assert_eq!(watcher.of_type("TRANSFERRED"), Vec::<Value>::new());
}

async fn command_that_ignores_sigterm_is_killed_within_the_drain(store: Store) {
    let setup = Setup::start(store).await;
    let watcher = setup.command_line.watch("leader").await.unwrap();
    let log = setup.log.display();
    let ignoring = format!("trap '' TERM; echo began $TENURE_FENCING_TOKEN >> {log}; while :; do sleep 0.05; done");
    let _ann = setup.elect_to_run(&ignoring, "ann", &[]);
    setup.wait_for_entries(1).await;
    let _bob = setup.elect("bob", &[]);
    setup.command_line.waiters("leader", 1).await;
    let start = Instant::now();
    let done = setup.command_line.json(0, &["transfer", "leader", "--drain", "4s"]).await;
    // The transfer itself reports that it was in time.
    assert!(start.elapsed() > Duration::from_secs(1), "killed too early: {:?}", start.elapsed());
    let log = setup.wait_for_entries(2).await;
    assert_eq!(log[1], format!("began {}", number(&done["token"])));
    watcher.wait_for(1, "TRANSFERRED").await;
    assert_held_without_a_gap(&watcher);
}

/// Acquires one lock, and once the other script has the other lock, waits for that.
fn crosswise(session: &str, (first, second): (&str, &str), folder: &Path) -> String {
    let (own, other) = (folder.join(first), folder.join(second));
    let (own, other) = (own.display(), other.display());
    format!(
        "$TENURE acquire {first} --session {session} --ttl 1m && : > {own} && \
         while ! test -e {other}; do sleep 0.01; done; \
         exec $TENURE acquire {second} --session {session} --wait 1h"
    )
}

async fn deadlock_of_two_sessions_is_shown(store: Store) {
    let setup = Setup::start(store).await;
    let folder = tempfile::tempdir().unwrap();
    let none = setup.command_line.json(0, &["blocked", "--deadlocks"]).await;
    assert_eq!(none["blocked"], serde_json::json!([]));
    let _ann = setup.command_line.start_script(&crosswise("ann", ("a", "b"), folder.path())).unwrap();
    let mut bob = setup.command_line.start_script(&crosswise("bob", ("b", "a"), folder.path())).unwrap();
    setup.command_line.waiters("a", 1).await;
    setup.command_line.waiters("b", 1).await;
    let shown = setup.command_line.json(1, &["blocked", "--deadlocks"]).await;
    let cycles: Vec<&Value> =
        shown["blocked"].as_array().unwrap().iter().map(|blocked| &blocked["claim"]["deadlock"]).collect();
    assert_eq!(cycles.len(), 2, "{shown}");
    assert!(cycles.contains(&&serde_json::json!(["ann", "bob"])), "{shown}");
    assert!(cycles.contains(&&serde_json::json!(["bob", "ann"])), "{shown}");
    // Closing one session lets the other continue.
    setup.command_line.json(0, &["close", "ann"]).await;
    setup.command_line.json(0, &["blocked", "--deadlocks"]).await;
    let ended = tokio::time::timeout(PATIENCE, bob.wait()).await.expect("the other session continues");
    assert_eq!(ended.unwrap().code(), Some(0));
}
