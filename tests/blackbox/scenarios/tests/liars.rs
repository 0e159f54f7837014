//! The runner fails when it should: with a driver that answers like the Rust one except for one lie, and with scenarios
//! whose expectations are wrong.

use std::path::{Path, PathBuf};

use tenure_scenarios::{ClientSpec, RunOptions, SETUPS, Scenario, report, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The Rust client's driver, with its answers modified by a `sed` script.
fn liar(rule: &str) -> ClientSpec {
    let driver = tenure_harness::built("tenure-driver").expect("the driver is built");
    let words = ["sh", "-c", r#""$0" | sed -u -E "$1""#, &driver.display().to_string(), rule];
    ClientSpec {
        name: "liar".to_owned(),
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

/// Plays a scenario with one client on SQLite. Returns the failure and the report.
async fn play(scenario: Scenario, client: ClientSpec) -> (Option<String>, String) {
    let options = RunOptions { jobs: 1, rounds: 1, verbose: false, short: false };
    let (scenarios, clients) = ([scenario], [client]);
    let mut outcomes = run(&scenarios, &clients, &SETUPS[..1], options).await;
    let report = report(&scenarios, &clients, &outcomes);
    (outcomes.remove(0).failure, report)
}

/// Asserts that a lie is detected, with these words in the failure.
async fn is_found_out(name: &str, rule: &str, words: &[&str]) {
    let (failure, report) = play(scenario(name), liar(rule)).await;
    let failure = failure.unwrap_or_else(|| panic!("{name} believes {rule}"));
    for word in words {
        assert!(failure.contains(word), "{rule}: \"{word}\" is not in: {failure}");
    }
    assert!(failure.contains(&format!("{name}.yaml, step ")), "{failure}");
    assert!(report.contains("FAILED sqlite") && report.ends_with("0 passed, 1 failed\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_lie_passes() {
    let (failure, report) = play(scenario("lock-busy-names-the-holder"), liar("s/a/a/")).await;
    assert_eq!(failure, None);
    assert!(report.ends_with("1 passed, 0 failed\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_holders_are_found_out() {
    let rule = r#"s/"acquired":false/"acquired":true/"#;
    is_found_out("lock-busy-names-the-holder", rule, &["step 2", "acquired: expected false, got true"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_do_not_rise_are_found_out() {
    is_found_out("lock-tokens-rise", r#"s/"token":[0-9]+/"token":7/"#, &["step 3", r#"expected {"above":7}, got 7"#])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_valid_for_ever_is_found_out() {
    let rule = r#"s/"valid":false/"valid":true/"#;
    is_found_out("session-frozen-beyond-its-ttl", rule, &["valid: expected false, got true"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_is_kept_back_is_found_out() {
    let rule = r#"s/"error":.*,"id"/"ok":{},"id"/"#;
    is_found_out("mode-permits-refused", rule, &["step 1", "expected the error", "LIMIT_UNKNOWN"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_was_none_is_found_out() {
    let rule = r#"s/"ok":\{"acquired.*$/"error":{"kind":"refused","reason":"DRAINING"}}/"#;
    is_found_out("lock-tokens-rise", rule, &["step 1", "DRAINING"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_was_not_is_found_out() {
    let rule = r#"s/"kind":"queued"/"kind":"updated"/"#;
    is_found_out("watch-tells-what-happens", rule, &[r#"kind: expected "queued", got "updated""#]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revisions_that_go_back_are_found_out() {
    let rule = r#"s/("kind":"events".*"revision":)[0-9]+/\11/"#;
    is_found_out("watch-tells-what-happens", rule, &["is told after"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_does_not_answer_is_given_up() {
    let ask = "{at: a, do: session, with: {client: c, session: s}, within_ms: 300}";
    let text = format!("{{title: t, promise: p, clients: [a], steps: [{ask}]}}");
    let scenario = Scenario::parse("silent", &text).unwrap();
    let (failure, _) = play(scenario, liar("/ttl_ms/d")).await;
    assert!(failure.as_ref().is_some_and(|text| text.contains("no answer within 300ms")), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_ends_is_no_success() {
    let ends = r#"read hello; echo '{"id": 1, "ok": {}}'; read connect; echo '{"id": 2, "ok": {}}'; read last"#;
    let run = ["sh", "-c", ends].map(ToOwned::to_owned).to_vec();
    let (failure, _) = play(scenario("lock-tokens-rise"), ClientSpec { run, ..liar("") }).await;
    assert!(failure.as_ref().is_some_and(|text| text.contains("ended without an answer")), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_beyond_what_a_partial_client_knows_is_left_out() {
    let knows = r#"read hello; echo '{"id": 1, "ok": {"fields": {"hello": [], "connect": ["client"]}}}'"#;
    let run_it = ["sh", "-c", knows].map(ToOwned::to_owned).to_vec();
    let options = RunOptions { jobs: 1, rounds: 1, verbose: false, short: false };
    let scenarios = [scenario("lock-tokens-rise")];
    let clients = [ClientSpec { run: run_it, partial: true, ..liar("") }];
    let outcomes = run(&scenarios, &clients, &SETUPS[..1], options).await;
    let report = report(&scenarios, &clients, &outcomes);
    assert!(report.contains("lock-tokens-rise  -\n") && report.ends_with("0 passed, 0 failed\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_talks_to_itself_is_found_out() {
    let (failure, _) = play(scenario("lock-tokens-rise"), liar(r#"s/^\{"id":3/hello\n&/"#)).await;
    assert!(failure.as_ref().is_some_and(|text| text.contains("no answer: hello")), "{failure:?}");
}

/// Steps with wrong expectations, after two clients have requested one lock and the first was granted.
#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_that_is_not_so_fails() {
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
        ("{pending: [second]}", "second is to be under way"),
        ("{order: [second, first]}", "was answered"),
        ("{that: $first, is: {above: $first}}", "expected {\"above\""),
        ("{await: second, expect: {token: $first}}", "token: expected $first"),
        ("{await: second, at_least_ms: 100000}", "expected 100s at least"),
        ("{until: {lock: report, holders: 2}, within_ms: 300}", "holders.length: expected 2, got 1"),
        ("{until: {sessions: 7}, within_ms: 300}", "not so within"),
        ("{at: b, told: w, events: [{kind: queued}, {kind: granted}]}", "kind: expected \"granted\", got \"ended\""),
        ("{fault: kill_server, client: b}\n  - {at: b, do: get_lock, with: {client: c, name: report}}", "step 9"),
        ("{fault: start_database}", "no database of its own"),
    ] {
        let scenario = Scenario::parse("wrong", &format!("{before}  - {step}\n")).unwrap();
        let (failure, _) = play(scenario, liar("s/a/a/")).await;
        let failure = failure.unwrap_or_else(|| panic!("it is so: {step}"));
        assert!(failure.contains(words), "{step}: {failure}");
    }
}

#[test]
fn what_is_no_scenario_is_refused() {
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
        let refused = Scenario::parse("wrong", &text(steps)).map_err(|error| format!("{error:#}"));
        assert!(refused.as_ref().is_err_and(|error| error.contains(words)), "{steps}: {refused:?}");
    }
}
