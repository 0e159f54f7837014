//! Holds kept only while CMD is healthy: the checks alone, and with a service.

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use support::{PATIENCE, appears, ended, server, signal, stderr, tenure, waiters};
use tenure_cli::child::{Health, HealthCheck, Outcome, Schedule, Signals, Task, Validity, since_boot, supervise};
use tenure_client::Progress;
use tenure_harness::{Yardstick, wait_until};
use tokio::sync::watch;
use tokio::time::timeout;

fn check(command: &str) -> HealthCheck {
    HealthCheck {
        command: command.to_owned(),
        interval: Duration::from_millis(100),
        timeout: Duration::from_millis(300),
        retries: 2,
        start_period: Duration::ZERO,
        health: watch::Sender::new(Health::Healthy),
        progress: Progress::within(Duration::MAX),
    }
}

/// A command that runs under a hold without end, with a health check.
fn task(script: &str, check: HealthCheck) -> Task {
    Task {
        own_program: PathBuf::from(env!("CARGO_BIN_EXE_tenure")),
        command: ["sh", "-c", script].map(Into::into).to_vec(),
        environment: vec![("TENURE_FENCING_TOKEN".to_owned(), "42".to_owned())],
        as_json: false,
        lock: "test".to_owned(),
        session: None,
        schedule: Schedule { term_before: Duration::from_secs(2), kill_before: Duration::from_millis(100) },
        health: Some(check),
    }
}

async fn run(task: &Task) -> Outcome {
    let (_sender, validity) = watch::channel(Validity::Until(since_boot() + Duration::from_secs(86_400)));
    let mut signals = Signals::catch().unwrap();
    timeout(PATIENCE, supervise(task, validity, &mut signals)).await.expect("it hangs").unwrap()
}

async fn until_health(check: &HealthCheck, wanted: impl Fn(&Health) -> bool) -> Health {
    let mut health = check.health.subscribe();
    timeout(PATIENCE, health.wait_for(wanted)).await.expect("its health does not change").unwrap().clone()
}

/// Reads a process id from a file.
fn pid(path: &Path) -> Pid {
    Pid::from_raw(fs::read_to_string(path).unwrap().trim().parse().unwrap()).unwrap()
}

async fn until_ended(pid: Pid) {
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let is_running = || {
        fs::read_to_string(&stat)
            .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
    };
    wait_until(PATIENCE, &format!("{pid:?} ends"), async || !is_running()).await;
}

/// A check that hangs. A process in its group writes its id to `file`, once.
fn hanging(file: &Path) -> String {
    format!("sh -c 'test -e {0} || {{ echo $$ > {0}.new; mv {0}.new {0}; }}; sleep 1000' & wait", file.display())
}

#[tokio::test]
async fn hung_check_fails_and_is_killed_with_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let (file, done) = (dir.path().join("pid"), dir.path().join("done"));
    let check = check(&hanging(&file));
    let task = task(&format!("while ! test -e {}; do sleep 0.01; done; exit 7", done.display()), check.clone());
    let follow = async {
        let health = until_health(&check, |health| *health != Health::Healthy).await;
        let why = "the health check failed 2 times in a row: it took longer than 300ms";
        assert_eq!(health, Health::Unhealthy(why.to_owned()));
        until_ended(pid(&file)).await;
        fs::write(&done, "").unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&task), follow);
    assert_eq!(outcome, Outcome::Ended(7), "health alone stops nothing: the hold does");
}

#[tokio::test]
async fn check_does_not_outlive_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let check = HealthCheck { timeout: PATIENCE, ..check(&hanging(&file)) };
    let task = task(&format!("while ! test -e {}; do sleep 0.01; done", file.display()), check);
    assert_eq!(run(&task).await, Outcome::Ended(0));
    until_ended(pid(&file)).await;
}

#[tokio::test]
async fn output_of_a_failed_check_is_reported_and_a_success_makes_healthy_again() {
    let dir = tempfile::tempdir().unwrap();
    let (well, done) = (dir.path().join("well"), dir.path().join("done"));
    // The check gets the command's environment, and a process that it leaves behind does not delay it.
    let command = format!(
        "echo looking; sleep 1000 & test -e {} || {{ echo ill $TENURE_FENCING_TOKEN; exit 3; }}",
        well.display()
    );
    let check = HealthCheck { timeout: PATIENCE, ..check(&command) };
    let task = task(&format!("while ! test -e {}; do sleep 0.01; done", done.display()), check.clone());
    let follow = async {
        let health = until_health(&check, |health| *health != Health::Healthy).await;
        let why = "the health check failed 2 times in a row: exit code 3: ill 42";
        assert_eq!(health, Health::Unhealthy(why.to_owned()));
        fs::write(&well, "").unwrap();
        until_health(&check, |health| *health == Health::Healthy).await;
        fs::write(&done, "").unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&task), follow);
    assert_eq!(outcome, Outcome::Ended(0));
}

#[tokio::test]
async fn check_that_cannot_run_is_reported_as_text_with_json_output() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let check = HealthCheck { timeout: PATIENCE, ..check("true") };
    let script = format!("PATH=/usr/bin:/bin; while ! test -e {}; do sleep 0.01; done", done.display());
    let mut task = Task { as_json: true, ..task("", check.clone()) };
    task.command = ["/bin/sh", "-c", &script].map(Into::into).to_vec();
    // No `sh` is found here for the check.
    task.environment = vec![("PATH".to_owned(), "/nonexistent".to_owned())];
    let follow = async {
        let health = until_health(&check, |health| *health != Health::Healthy).await;
        let why = "the health check failed 2 times in a row: exit code 127: tenure: sh: command not found";
        assert_eq!(health, Health::Unhealthy(why.to_owned()));
        fs::write(&done, "").unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&task), follow);
    assert_eq!(outcome, Outcome::Ended(0));
}

/// A script that writes its process id to `file` and runs until it is killed.
fn ignoring_sigterm(file: &Path) -> String {
    format!("trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 0.01; done", file.display())
}

/// Long enough for a healthy command's lock to be renewed in time on a busy machine.
const TTL: Duration = Duration::from_secs(4);
const INTERVAL: Duration = Duration::from_millis(500);
const RETRIES: u32 = 2;
const HEALTH: [&str; 6] = ["--ttl", "4s", "--health-interval", "500ms", "--health-retries", "2"];

#[tokio::test]
async fn unhealthy_command_loses_its_lock_to_the_next() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let (file, well) = (dir.path().join("pid"), dir.path().join("well"));
    fs::write(&well, "").unwrap();
    let check = format!("test -e {} || sleep 1000", well.display());
    let script = ignoring_sigterm(&file);
    let first = [&["lock", "--health-cmd", &check, "--health-timeout", "500ms"], &HEALTH[..]].concat();
    let first = [&first, &["job", "--", "sh", "-c", &script][..]].concat();
    let first = tenure(&server.url(), &first).spawn().unwrap();
    appears(&file).await;
    // Succeeds if the first command is dead, reaped or not.
    let next = format!("! grep -qs '^State:.[^ZX]' /proc/$(cat {})/status", file.display());
    let second = tenure(&server.url(), &["lock", "job", "--", "sh", "-c", &next]).spawn().unwrap();
    waiters(&server, "job", "1").await;

    fs::remove_file(&well).unwrap();
    let (unhealthy, yardstick) = (Instant::now(), Yardstick::start());
    let second = ended(second).await;
    let took = unhealthy.elapsed();
    assert!(second.status.success(), "the first command still ran beside the second");
    yardstick.assert_in_time(&[took], INTERVAL * RETRIES + INTERVAL + TTL);
    println!("from unhealthy to the next one's end: {took:?}");
    let first = ended(first).await;
    let stderr = stderr(&first);
    assert_eq!(first.status.code(), Some(75), "{stderr}");
    let why = "the health check failed 2 times in a row: it took longer than 500ms";
    assert!(stderr.contains(&format!("tenure: job is not renewed any more: {why}\n")), "{stderr}");
    assert!(stderr.ends_with(&format!("job was lost while the command ran ({why}), so it was stopped\n")), "{stderr}");
}

#[tokio::test]
async fn healthy_command_keeps_its_lock() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let checks = dir.path().join("checks");
    // Every other check fails, so there are no consecutive failures.
    let check = format!("echo >> {0}; test $(($(wc -l < {0}) % 2)) = 0", checks.display());
    // Runs for twice the TTL.
    let script = format!("until test $(wc -l < {} || echo 0) -gt 16; do sleep 0.05; done; exit 5", checks.display());
    let arguments = [&["lock", "--health-cmd", &check], &HEALTH[..], &["job", "--", "sh", "-c", &script]].concat();
    let output = ended(tenure(&server.url(), &arguments).spawn().unwrap()).await;
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(!stderr(&output).contains("not renewed"), "{}", stderr(&output));
}

#[tokio::test]
async fn unhealthy_leader_is_replaced_by_a_standby_and_becomes_one() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let mut candidates = Vec::new();
    for name in ["a", "b"] {
        let (leads, well) = (dir.path().join(name), dir.path().join(format!("{name}-well")));
        fs::write(&well, "").unwrap();
        let check = format!("test -e {}", well.display());
        let script = format!("trap 'rm {0}; exit' TERM; : > {0}; while :; do sleep 0.01; done", leads.display());
        let arguments =
            [&["elect", "--health-cmd", &check], &HEALTH[..], &["chief", "--", "sh", "-c", &script]].concat();
        candidates.push(tenure(&server.url(), &arguments).spawn().unwrap());
        if name == "a" {
            appears(&leads).await;
        }
    }
    waiters(&server, "chief", "1").await;
    fs::remove_file(dir.path().join("a-well")).unwrap();
    appears(&dir.path().join("b")).await;
    assert!(!dir.path().join("a").exists(), "both lead");
    waiters(&server, "chief", "1").await;
    fs::write(dir.path().join("a-well"), "").unwrap();
    fs::remove_file(dir.path().join("b-well")).unwrap();
    appears(&dir.path().join("a")).await;
    for candidate in candidates {
        signal(&candidate, Signal::TERM);
        let output = ended(candidate).await;
        assert!(
            stderr(&output)
                .contains("the lead of chief was lost (the health check failed 2 times in a row: exit code 1)"),
            "{}",
            stderr(&output)
        );
    }
}

#[tokio::test]
async fn check_does_not_outlive_tenure() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let (file, left) = (dir.path().join("pid"), dir.path().join("left"));
    // One process of the check has left its process group.
    let check =
        format!("setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; sleep 1000' & {1}", left.display(), hanging(&file));
    let arguments = ["lock", "--health-cmd", &check, "--health-interval", "50ms", "job", "--", "sleep", "1000"];
    let mut tenure = tenure(&server.url(), &arguments).spawn().unwrap();
    appears(&file).await;
    appears(&left).await;
    tenure.start_kill().unwrap();
    tenure.wait().await.unwrap();
    until_ended(pid(&file)).await;
    until_ended(pid(&left)).await;
}

#[tokio::test]
async fn invalid_health_checks_are_rejected() {
    let server = server().await;
    let refused = [
        (&["--health-interval", "0"][..], "'0' for '--health-interval <DURATION>': expected 50ms to 24h"),
        (&["--health-timeout", "25h"], "'25h' for '--health-timeout <DURATION>': expected 50ms to 24h"),
        (&["--health-timeout", "soon"], "expected seconds (5, 0.5) or units (500ms, 1m30s, 2h)"),
        (&["--health-retries", "0"], "'0' for '--health-retries <N>'"),
        (&["--health-start-period", "2d"], "'2d' for '--health-start-period <DURATION>': expected at most 24h"),
    ];
    for (arguments, why) in refused {
        let arguments = [&["lock", "--health-cmd", "true"], arguments, &["job", "--", "true"]].concat();
        let output = ended(tenure(&server.url(), &arguments).spawn().unwrap()).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let arguments = ["lock", "--health-retries", "2", "job", "--", "true"];
    let output = ended(tenure(&server.url(), &arguments).spawn().unwrap()).await;
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--health-cmd <CHECK>"), "{}", stderr(&output));
}
