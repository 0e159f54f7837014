//! CMD under a hold: started, signalled and stopped in time, with real processes and no service.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tenure_cli::child::{Outcome, Schedule, Signals, Task, Validity, since_boot, supervise};
use tokio::sync::watch;
use tokio::time::sleep;

/// Exceeds the duration of any step here on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Exceeds the duration of any test: a hold that does not end.
const FOREVER: Duration = Duration::from_secs(86400);

fn task(script: &str) -> Task {
    Task {
        own_program: PathBuf::from(env!("CARGO_BIN_EXE_tenure")),
        command: ["sh", "-c", script].map(Into::into).to_vec(),
        environment: vec![("TENURE_FENCING_TOKEN".to_owned(), "42".to_owned())],
        as_json: false,
        lock: "test".to_owned(),
        session: None,
        schedule: Schedule { term_before: Duration::from_secs(2), kill_before: Duration::from_millis(100) },
        health: None,
    }
}

async fn run(task: &Task, validity: watch::Receiver<Validity>) -> Outcome {
    let mut signals = Signals::catch().unwrap();
    tokio::time::timeout(PATIENCE, supervise(task, validity, &mut signals)).await.expect("it hangs").unwrap()
}

/// Returns the channel of a hold that is valid for `time` from now on.
fn valid_for(time: Duration) -> (watch::Sender<Validity>, watch::Receiver<Validity>) {
    watch::channel(Validity::Until(since_boot() + time))
}

/// Waits until a file exists, and returns its content.
async fn written(path: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => assert!(Instant::now() < deadline, "{} was never written", path.display()),
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.parse().unwrap()).unwrap()
}

/// Whether the process exists and is not a zombie.
fn is_running(pid: Pid) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

async fn until_ended(pid: Pid) {
    let deadline = Instant::now() + PATIENCE;
    while is_running(pid) {
        assert!(Instant::now() < deadline, "{pid:?} is still running");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn exit_code_is_passed_on() {
    let (_sender, validity) = valid_for(FOREVER);
    assert_eq!(run(&task("exit 7"), validity.clone()).await, Outcome::Ended(7));
    assert_eq!(run(&task("test $TENURE_FENCING_TOKEN = 42"), validity.clone()).await, Outcome::Ended(0));
    assert_eq!(run(&task("kill -9 $$"), validity).await, Outcome::Ended(137));
}

#[tokio::test]
async fn missing_command_is_distinguished_from_one_that_cannot_run() {
    let (_sender, validity) = valid_for(FOREVER);
    let mut missing = task("");
    missing.command = vec!["/nowhere/to/be/found".into()];
    assert_eq!(run(&missing, validity.clone()).await, Outcome::Ended(127));
    missing.command = vec!["/".into()];
    assert_eq!(run(&missing, validity).await, Outcome::Ended(126));
}

#[tokio::test]
async fn command_is_terminated_before_the_hold_ends() {
    let end = since_boot() + Duration::from_secs(3);
    let (_sender, validity) = watch::channel(Validity::Until(end));
    let outcome = run(&task("trap 'exit 0' TERM; while :; do sleep 0.01; done"), validity).await;
    assert!(matches!(outcome, Outcome::Lost(_)), "{outcome:?}");
    assert!(since_boot() < end, "the command ended only after the hold");
}

#[tokio::test]
async fn command_that_ignores_signals_is_killed_before_the_hold_ends() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    // The command ignores SIGTERM, and so does a descendant that left its process group.
    let script = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 0.01; done' & \
         while :; do sleep 0.01; done",
        file.display()
    );
    let mut task = task(&script);
    task.schedule = Schedule { term_before: Duration::from_millis(3500), kill_before: Duration::from_secs(3) };
    let end = since_boot() + Duration::from_secs(6);
    let (_sender, validity) = watch::channel(Validity::Until(end));
    let outcome = run(&task, validity).await;
    assert!(matches!(outcome, Outcome::Lost(_)), "{outcome:?}");
    assert!(!is_running(pid(&written(&file).await)), "the descendant is still running");
    assert!(since_boot() < end, "the processes ended only after the hold");
}

#[tokio::test]
async fn renewals_keep_the_command_running() {
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let task = task(&format!("while ! test -e {}; do sleep 0.01; done; exit 5", go.display()));
    let (sender, validity) = valid_for(Duration::from_secs(4));
    let renew = async {
        // Well past the initial end of the validity.
        let enough = since_boot() + Duration::from_secs(5);
        while since_boot() < enough {
            sleep(Duration::from_millis(100)).await;
            sender.send_replace(Validity::Until(since_boot() + Duration::from_secs(4)));
        }
        fs::write(&go, "").unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&task, validity), renew);
    assert_eq!(outcome, Outcome::Ended(5));
}

#[tokio::test]
async fn lost_hold_stops_the_command_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let task = task(&format!("echo $$ > {}; while :; do sleep 0.01; done", file.display()));
    let (sender, validity) = valid_for(FOREVER);
    let lose = async {
        written(&file).await;
        sender.send_replace(Validity::Lost("evicted by anna".to_owned()));
    };
    let (outcome, ()) = tokio::join!(run(&task, validity), lose);
    assert_eq!(outcome, Outcome::Lost("evicted by anna".to_owned()));
}

/// Requests handover of a hold that nothing else ends, as soon as `file` exists.
async fn hand_over(sender: &watch::Sender<Validity>, file: &Path, time: Duration) -> Duration {
    written(file).await;
    let stop_by = since_boot() + time;
    sender.send_replace(Validity::HandOver { until: since_boot() + FOREVER, stop_by });
    stop_by
}

#[tokio::test]
async fn command_stops_for_a_handoff_as_soon_as_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("trap 'exit 0' TERM; echo $$ > {}; while :; do sleep 0.01; done", file.display());
    let (sender, validity) = valid_for(FOREVER);
    let task = task(&script);
    let (outcome, stop_by) = tokio::join!(run(&task, validity), hand_over(&sender, &file, PATIENCE));
    assert_eq!(outcome, Outcome::Stopped);
    assert!(since_boot() < stop_by, "the command was only killed");
}

#[tokio::test]
async fn command_that_ignores_a_handoff_is_killed_at_the_deadline_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let (file, last) = (dir.path().join("pid"), dir.path().join("last"));
    let script = format!(
        "trap '' TERM; sh -c 'while :; do date +%s%N > {0}.new; mv {0}.new {0}; sleep 0.01; done' & \
         echo $! > {1}; while :; do sleep 0.01; done",
        last.display(),
        file.display()
    );
    let (sender, validity) = valid_for(FOREVER);
    let mut task = task(&script);
    // If the hold were lost, this schedule would kill the command much sooner.
    task.schedule = Schedule { term_before: Duration::from_millis(200), kill_before: Duration::from_millis(100) };
    let time = Duration::from_secs(5);
    let handing = async { (hand_over(&sender, &file, time).await, std::time::SystemTime::now() + time) };
    let (outcome, (stop_by, killed_at)) = tokio::join!(run(&task, validity), handing);
    assert_eq!(outcome, Outcome::Stopped);
    assert!(since_boot() >= stop_by, "the command was killed too soon");
    assert!(!is_running(pid(&written(&file).await)), "its descendant is still running");
    let worked = Duration::from_nanos(written(&last).await.parse().unwrap());
    let killed_at = killed_at.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(worked + time / 2 > killed_at, "the command stopped working long before its deadline");
}

#[tokio::test]
async fn hold_lost_during_a_handoff_is_reported_lost() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let task = task(&format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.01; done", file.display()));
    let (sender, validity) = valid_for(FOREVER);
    let lose = async {
        hand_over(&sender, &file, FOREVER).await;
        sender.send_replace(Validity::Lost("evicted by anna".to_owned()));
    };
    let (outcome, ()) = tokio::join!(run(&task, validity), lose);
    assert_eq!(outcome, Outcome::Lost("evicted by anna".to_owned()));
}

/// The guard alone, with a command that has no other supervisor.
struct Guarded {
    command: tokio::process::Child,
    guard: tokio::process::Child,
}

impl Guarded {
    fn start(script: &str) -> Self {
        let run = format!("guarded-{}", since_boot().as_nanos());
        let command = tokio::process::Command::new("sh")
            .args(["-c", script])
            .env("TENURE_RUN", &run)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let guard = tokio::process::Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["__guard", "--lock", "test", "--run", &run, "--group", &command.id().unwrap().to_string()])
            .args(["--term-before", "3000000000", "--kill-before", "200000000"])
            .stdin(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { command, guard }
    }

    async fn send(&mut self, line: &str) {
        use tokio::io::AsyncWriteExt;
        self.guard.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn ended(mut self) -> std::process::ExitStatus {
        tokio::time::timeout(PATIENCE, self.command.wait()).await.expect("it is still running").unwrap()
    }
}

#[tokio::test]
async fn guard_kills_the_command_when_its_parent_has_ended() {
    use std::os::unix::process::ExitStatusExt;

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("trap '' TERM; sh -c 'echo $$ > {}; sleep 1000'; sleep 1000", file.display());
    let mut guarded = Guarded::start(&script);
    guarded.send(&format!("until {}\n", (since_boot() + FOREVER).as_nanos())).await;
    let child = pid(&written(&file).await);
    drop(guarded.guard.stdin.take());
    assert_eq!(guarded.ended().await.signal(), Some(9));
    until_ended(child).await;
}

#[tokio::test]
async fn guard_stops_the_command_when_its_parent_is_silent() {
    let mut guarded = Guarded::start("trap 'exit 3' TERM; while :; do sleep 0.01; done");
    let end = since_boot() + Duration::from_secs(5);
    guarded.send(&format!("until {}\n", end.as_nanos())).await;
    assert_eq!(guarded.ended().await.code(), Some(3));
    assert!(since_boot() < end, "the command ended only after the hold");
}

#[tokio::test]
async fn guard_exits_when_the_command_has_ended() {
    let mut guarded = Guarded::start("exec sleep 1000");
    // Lines may arrive in pieces, and unknown ones are ignored.
    guarded.send("termed\nnonsense\ndo").await;
    guarded.send("ne\n").await;
    let status = tokio::time::timeout(PATIENCE, guarded.guard.wait()).await.expect("the guard does not exit").unwrap();
    assert!(status.success());
    assert!(
        is_running(pid(&guarded.command.id().unwrap().to_string())),
        "the guard killed a command that had been reported as ended"
    );
}
