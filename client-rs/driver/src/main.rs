//! Driver of the Rust client: executes the scenarios' requests, one JSON object per line, as specified in
//! `tests/blackbox/scenarios/README.md`.

mod answer;
mod election;
mod group;
mod lock;
mod measure;
mod operate;
mod perform;
mod request;
mod running;
mod session;
mod things;
mod watch;

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::answer::{Answer, Failure};
use crate::request::Request;
use crate::things::Things;

// A single thread starts requests in the order in which they were read.
#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .init();
    let things = Arc::new(Things::default());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match read(&line) {
            Ok((id, request)) => start(id, request, &things),
            Err((id, failure)) => reply(id, Err(failure)),
        }
    }
    // Exits without closing anything: dropping the guards would release them.
    std::process::exit(0)
}

fn read(line: &str) -> Result<(u64, Request), (u64, Failure)> {
    let said: Value = serde_json::from_str(line).map_err(|error| (0, Failure::Driver(format!("no JSON: {error}"))))?;
    let id = said.get("id").and_then(Value::as_u64).unwrap_or_default();
    let request = serde_json::from_value(said).map_err(|error| (id, Failure::Driver(error.to_string())))?;
    Ok((id, request))
}

fn start(id: u64, request: Request, things: &Arc<Things>) {
    let cancelled = things.running.begin(id);
    let things = Arc::clone(things);
    tokio::spawn(async move {
        let answer = tokio::select! {
            biased;
            answer = perform::perform(request, &things) => answer,
            Ok(()) = cancelled => Err(Failure::Cancelled),
        };
        things.running.end(id);
        reply(id, answer);
    });
}

/// Writes one object per line and flushes it. If this fails, the runner is gone, and the error has no recipient.
fn reply(id: u64, answer: Answer) {
    let line = match answer {
        Ok(ok) => json!({"id": id, "ok": ok}),
        Err(failure) => json!({"id": id, "error": failure.to_json()}),
    };
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
