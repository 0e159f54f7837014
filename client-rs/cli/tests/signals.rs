//! Signals to this process reach CMD. In a program of its own, because a signal reaches all commands that a process
//! supervises: in the other tests' program it would end theirs.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use tenure_cli::child::{Outcome, Schedule, Signals, Task, Validity, since_boot, supervise};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn signals_reach_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let script = format!("trap 'exit 33' USR1; : > {}; while :; do sleep 0.01; done", ready.display());
    let task = Task {
        own_program: env!("CARGO_BIN_EXE_tenure").into(),
        command: ["sh", "-c", &script].map(Into::into).to_vec(),
        environment: Vec::new(),
        as_json: false,
        lock: "test".to_owned(),
        session: None,
        schedule: Schedule::new(Duration::from_secs(10), None),
        health: None,
    };
    let (_sender, validity) = watch::channel(Validity::Until(since_boot() + Duration::from_secs(86400)));
    let mut signals = Signals::catch().unwrap();
    let signal = async {
        let deadline = Instant::now() + PATIENCE;
        while !ready.exists() {
            assert!(Instant::now() < deadline, "the command never began");
            sleep(Duration::from_millis(5)).await;
        }
        kill_process(getpid(), Signal::USR1).unwrap();
    };
    let (outcome, ()) = tokio::join!(timeout(PATIENCE, supervise(&task, validity, &mut signals)), signal);
    assert_eq!(outcome.expect("it hangs").unwrap(), Outcome::Ended(33));
}
