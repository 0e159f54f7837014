//! The runner fails when it should: with a driver that replies like the Rust one except for one modification, and with
//! scenarios whose expectations are wrong.

use std::path::{Path, PathBuf};

use tenure_scenarios::{ClientSpec, RunOptions, SETUPS, Scenario, report, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The Rust client's driver, with its replies modified by a `sed` script.
fn faulty_driver(rule: &str) -> ClientSpec {
    let driver = tenure_harness::built("tenure-driver").expect("the driver is built");
    let words = ["sh", "-c", r#""$0" | sed -u -E "$1""#, &driver.display().to_string(), rule];
    ClientSpec {
        name: "faulty".to_owned(),
        folder: root(),
        build: Vec::new(),
        run: words.iter().map(ToString::to_string).collect(),
        partial: false,
    }
}

fn scenario(name: &str) -> Scenario {
    let all = Scenario::load_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")).expect("scenarios");
    all.into_iter().find(|scenario| scenario.name == name).unwrap_or_else(|| panic!("there is no {name}"))
}

/// Runs a scenario with one client on SQLite. Returns the failure and the report.
async fn run_one(scenario: Scenario, client: ClientSpec) -> (Option<String>, String) {
    let options = RunOptions { jobs: 1, rounds: 1, verbose: false, short: false };
    let (scenarios, clients) = ([scenario], [client]);
    let mut outcomes = run(&scenarios, &clients, &SETUPS[..1], options).await;
    let report = report(&scenarios, &clients, &outcomes);
    (outcomes.remove(0).failure, report)
}

/// Asserts that a modification is detected, with these words in the failure.
async fn assert_detected(name: &str, rule: &str, words: &[&str]) {
    let (failure, report) = run_one(scenario(name), faulty_driver(rule)).await;
    let failure = failure.unwrap_or_else(|| panic!("{name} accepts {rule}"));
    for word in words {
        assert!(failure.contains(word), "{rule}: \"{word}\" is not in: {failure}");
    }
    assert!(failure.contains(&format!("{name}.yaml, step ")), "{failure}");
    assert!(report.contains("FAILED sqlite") && report.ends_with("0 passed, 1 failed\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unmodified_driver_passes() {
    let (failure, report) = run_one(scenario("lock-busy-names-the-holder"), faulty_driver("s/a/a/")).await;
    assert_eq!(failure, None);
    assert!(report.ends_with("1 passed, 0 failed\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_holders_are_detected() {
    let rule = r#"s/"acquired":false/"acquired":true/"#;
    assert_detected("lock-busy-names-the-holder", rule, &["step 2", "acquired: expected false, got true"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_do_not_rise_are_detected() {
    assert_detected(
        "lock-tokens-rise",
        r#"s/"token":[0-9]+/"token":7/"#,
        &["step 3", r#"expected {"above":7}, got 7"#],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_that_never_ends_is_detected() {
    let rule = r#"s/"valid":false/"valid":true/"#;
    assert_detected("session-frozen-beyond-its-ttl", rule, &["valid: expected false, got true"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suppressed_rejection_is_detected() {
    let rule = r#"s/"error":.*,"id"/"ok":{},"id"/"#;
    assert_detected("mode-permits-refused", rule, &["step 1", "expected the error", "LIMIT_UNKNOWN"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_rejection_is_detected() {
    let rule = r#"s/"ok":\{"acquired.*$/"error":{"kind":"refused","reason":"DRAINING"}}/"#;
    assert_detected("lock-tokens-rise", rule, &["step 1", "DRAINING"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_event_is_detected() {
    let rule = r#"s/"kind":"queued"/"kind":"updated"/"#;
    assert_detected("watch-reports-events", rule, &[r#"kind: expected "queued", got "updated""#]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revisions_that_go_back_are_detected() {
    let rule = r#"s/("kind":"events".*"revision":)[0-9]+/\11/"#;
    assert_detected("watch-reports-events", rule, &["arrives after"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn driver_without_reply_fails_within_the_limit() {
    let ask = "{at: a, do: session, with: {client: c, session: s}, within_ms: 300}";
    let text = format!("{{title: t, promise: p, clients: [a], steps: [{ask}]}}");
    let scenario = Scenario::parse("silent", &text).unwrap();
    let (failure, _) = run_one(scenario, faulty_driver("/ttl_ms/d")).await;
    assert!(failure.as_ref().is_some_and(|text| text.contains("no answer within 300ms")), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn driver_that_ends_fails() {
    let ends = r#"read hello; echo '{"id": 1, "ok": {}}'; read connect; echo '{"id": 2, "ok": {}}'; read last"#;
    let run = ["sh", "-c", ends].map(ToOwned::to_owned).to_vec();
    let (failure, _) = run_one(scenario("lock-tokens-rise"), ClientSpec { run, ..faulty_driver("") }).await;
    assert!(failure.as_ref().is_some_and(|text| text.contains("ended without an answer")), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_with_unknown_requests_is_skipped_for_a_partial_client() {
    let hello_only = r#"read hello; echo '{"id": 1, "ok": {"fields": {"hello": [], "connect": ["client"]}}}'"#;
    let run_it = ["sh", "-c", hello_only].map(ToOwned::to_owned).to_vec();
    let options = RunOptions { jobs: 1, rounds: 1, verbose: false, short: false };
    let scenarios = [scenario("lock-tokens-rise")];
    let clients = [ClientSpec { run: run_it, partial: true, ..faulty_driver("") }];
    let outcomes = run(&scenarios, &clients, &SETUPS[..1], options).await;
    let report = report(&scenarios, &clients, &outcomes);
    assert!(report.contains("lock-tokens-rise  -\n") && report.ends_with("0 passed, 0 failed\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_output_is_detected() {
    let (failure, _) = run_one(scenario("lock-tokens-rise"), faulty_driver(r#"s/^\{"id":3/hello\n&/"#)).await;
    assert!(failure.as_ref().is_some_and(|text| text.contains("invalid reply: hello")), "{failure:?}");
}

/// Steps with wrong expectations, after two clients have requested one lock and the first was granted.
#[tokio::test(flavor = "multi_thread")]
async fn scenario_with_wrong_expectations_fails() {
    let before = r#"
title: t
promise: p
clients: [a, b]
steps:
  - {at: a, do: acquire, with: {client: c, guard: g, names: [report], ttl_ms: 3000}, start: first}
  - {await: first, expect: {token: $first}}
  - {at: b, do: watch, with: {client: c, watch: w, names: [report], after_revision: $first}}
  - {at: b, do: acquire, with: {client: c, guard: g, names: [report], ttl_ms: 3000}, start: second}
  - until: {lock: report, waiters: 1}
  - {at: a, do: release, with: {guard: g}}
  - {await: second}
"#;
    for (step, words) in [
        ("{pending: [second]}", "second must be pending"),
        ("{order: [second, first]}", "was answered"),
        ("{that: $first, is: {above: $first}}", "expected {\"above\""),
        ("{await: second, expect: {token: $first}}", "token: expected $first"),
        ("{await: second, at_least_ms: 100000}", "expected 100s at least"),
        ("{until: {lock: report, holders: 2}, within_ms: 300}", "holders.length: expected 2, got 1"),
        ("{until: {sessions: 7}, within_ms: 300}", "no match within"),
        (
            "{at: b, notified: w, events: [{kind: queued}, {kind: granted}]}",
            "kind: expected \"granted\", got \"ended\"",
        ),
        ("{fault: kill_server, client: b}\n  - {at: b, do: get_lock, with: {client: c, name: report}}", "step 9"),
        ("{fault: start_database}", "not a database of its own"),
    ] {
        let scenario = Scenario::parse("wrong", &format!("{before}  - {step}\n")).unwrap();
        let (failure, _) = run_one(scenario, faulty_driver("s/a/a/")).await;
        let failure = failure.unwrap_or_else(|| panic!("the step succeeded: {step}"));
        assert!(failure.contains(words), "{step}: {failure}");
    }
}

#[test]
fn invalid_scenario_is_rejected() {
    let text = |steps: &str| format!("{{title: t, promise: p, clients: [a], steps: [{steps}]}}");
    for (steps, words) in [
        ("", "no steps"),
        ("{at: b, do: hello}", "no client b"),
        ("{at: a, do: hello, expects: {}}", "expects"),
        ("{await: nothing}", "not started"),
        ("{at: a}", "does nothing"),
        ("{fault: rain, client: a}", "rain"),
        ("{until: {lock: a}, with_in: 3}", "with_in"),
    ] {
        let parsed = Scenario::parse("wrong", &text(steps)).map_err(|error| format!("{error:#}"));
        assert!(parsed.as_ref().is_err_and(|error| error.contains(words)), "{steps}: {parsed:?}");
    }
}
