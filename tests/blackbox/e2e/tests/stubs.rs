//! Tests of the C++ program in `proto/README.md`, which holds a lock by plain calls of generated code.

use std::process::Stdio;
use std::time::Duration;

use tenure_e2e::Calls;
use tenure_harness::{Postgres, Tenured, TenuredOptions, wait_until};
use tenure_proto::v1::{AcquireRequest, EvictRequest, Lock};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

const LOCK: &str = "nightly-report";

/// Longer than the program's TTL, and than a server keeps the claim of a call that has ended.
const LONGER_THAN_TTL: Duration = Duration::from_secs(12);

/// A running program.
struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(servers: &[Tenured]) -> Self {
        let program = std::env::var_os("TENURE_E2E_HOLD").expect("`cargo xtask test --only readme` builds the program");
        let endpoints: Vec<String> = servers.iter().map(Tenured::url).collect();
        let mut command = Command::new(program);
        command.arg(LOCK).env("TENURE_ENDPOINTS", endpoints.join(","));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The rest of its next line, which must start so.
    async fn line(&mut self, start: &str) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("no line in time").unwrap();
        let line = line.unwrap_or_else(|| panic!("it ended before \"{start}\""));
        println!("{line}");
        line.strip_prefix(start).unwrap_or_else(|| panic!("\"{line}\" instead of \"{start}\"")).to_owned()
    }

    async fn token(&mut self) -> u64 {
        self.line("held token=").await.parse().unwrap()
    }

    /// Ends its input, and returns whether it ends with success.
    async fn finish(&mut self) -> bool {
        drop(self.child.stdin.take());
        timeout(PATIENCE, self.child.wait()).await.expect("no end in time").unwrap().success()
    }
}

async fn lock(calls: &Calls) -> Lock {
    calls.lock(LOCK).await.unwrap()
}

/// Asserts that no other session gets the lock, for longer than it would be held without renewals.
async fn assert_stays_held(calls: &mut Calls) {
    let (names, ttl) = (vec![LOCK.into()], Some(LONGER_THAN_TTL.try_into().unwrap()));
    let request = AcquireRequest { names, ttl, wait: ttl, ..AcquireRequest::default() };
    assert!(!calls.locks.acquire(request).await.unwrap().into_inner().acquired);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`cargo xtask test` runs it, and builds the program"]
async fn cpp_programs_keep_lock_and_place_when_their_server_is_killed() {
    let options = TenuredOptions::store(Postgres::shared().await.unwrap().create_database().await.unwrap());
    let mut servers = [Tenured::start(&options).await.unwrap(), Tenured::start(&options).await.unwrap()];
    let mut calls = Calls::connect(&servers[1].url()).await.unwrap();
    let mut holder = Program::start(&servers);
    let token = holder.token().await;
    let mut waiter = Program::start(&servers);
    wait_until(PATIENCE, "the other program waits", async || lock(&calls).await.waiter_count == 1).await;
    let place = lock(&calls).await.waiters[0].id;

    servers[0].kill().await.unwrap();
    holder.line("server=0 failed").await;
    waiter.line("server=0 failed").await;
    assert_stays_held(&mut calls).await;
    let now = lock(&calls).await;
    assert_eq!((now.holders[0].token, now.waiters[0].id), (token, place));

    assert!(holder.finish().await);
    holder.line("released").await;
    assert!(waiter.token().await > token);
    assert!(waiter.finish().await);
    waiter.line("released").await;
    assert!(lock(&calls).await.holders.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`cargo xtask test` runs it, and builds the program"]
async fn cpp_program_keeps_its_lock_when_its_only_server_restarts_until_it_is_evicted() {
    let mut server = Tenured::start(&TenuredOptions::default()).await.unwrap();
    let mut holder = Program::start(std::slice::from_ref(&server));
    let token = holder.token().await;
    server.kill().await.unwrap();
    holder.line("server=0 failed").await;
    server.start_again().await.unwrap();
    let mut calls = Calls::connect(&server.url()).await.unwrap();
    assert_stays_held(&mut calls).await;
    assert_eq!(lock(&calls).await.holders[0].token, token);

    let request = EvictRequest { name: LOCK.into(), operator: "me".into(), ..EvictRequest::default() };
    calls.locks.evict(request).await.unwrap();
    while !holder.line("").await.starts_with("lost HOLD_ENDED") {}
    assert!(!holder.finish().await);
}
