//! `top`: shows the state of the whole namespace, refreshed periodically.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tenure_proto::v1::ListSessionsResponse;

use super::read::{list_locks, list_servers, list_sessions};
use crate::Context;
use crate::exit::{self, Failure};
use crate::output::{self, State, Style};

/// The minimum interval, to limit the load on servers.
const SHORTEST: Duration = Duration::from_millis(100);

/// Escape sequences: move to the top left, clear the rest of a line, clear everything below.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const BELOW: &str = "\x1b[J";

pub async fn top(context: &Context, interval: Duration, rows: usize, once: bool) -> Result<u8, Failure> {
    if interval < SHORTEST {
        return Err(Failure::new(exit::USAGE, format!("--interval: at least {}", output::exact(SHORTEST))));
    }
    let screen = |before: Option<&State>, now: &State| output::top(&context.global.namespace, rows, before, now);
    let mut last = read_state(context).await?;
    if once || !Style::of_stdout().can_redraw() {
        return context.output.value(&summary(&last)?, || screen(None, &last));
    }
    draw(&screen(None, &last))?;
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            interrupted = tokio::signal::ctrl_c() => return interrupted.map(|()| exit::OK).map_err(Failure::from),
        }
        match read_state(context).await {
            Ok(now) => {
                draw(&screen(Some(&last), &now))?;
                last = now;
            }
            // Keep running: an unattended screen must recover when a server is reachable again.
            Err(failure) => draw(&failure.to_string())?,
        }
    }
}

/// Reads the whole state. Only a session's home server knows how late its renewals are, so every endpoint is queried
/// for them.
async fn read_state(context: &Context) -> Result<State, Failure> {
    let (rpc, namespace) = (&context.rpc, &context.global.namespace);
    let servers = list_servers(rpc, namespace).await?;
    let locks = list_locks(rpc, namespace, "").await?;
    let mut sessions = list_sessions(rpc, namespace).await?;
    let mut silent = Vec::new();
    if servers.servers.len() > 1 {
        for endpoint in &rpc.endpoints {
            match list_sessions(&rpc.only(endpoint), namespace).await {
                Ok(listed) => add_remaining(&mut sessions, listed),
                Err(failure) => silent.push((endpoint.clone(), failure.message)),
            }
        }
    }
    Ok(State { at: Instant::now(), servers, locks, sessions, silent })
}

fn add_remaining(all: &mut ListSessionsResponse, listed: ListSessionsResponse) {
    let mut listed = listed.sessions.into_iter().peekable();
    // Both lists are in the order of opening.
    for session in &mut all.sessions {
        while listed.next_if(|other| other.opened_revision < session.opened_revision).is_some() {}
        if let Some(same) = listed.next_if(|other| other.opened_revision == session.opened_revision) {
            session.remaining = session.remaining.or(same.remaining);
        }
    }
}

fn summary(state: &State) -> Result<serde_json::Value, Failure> {
    Ok(json!({
        "servers": output::json(&state.servers)?,
        "locks": output::json(&state.locks)?,
        "sessions": output::json(&state.sessions)?,
        "silent": state.silent.iter().map(|(endpoint, why)| json!({"endpoint": endpoint, "why": why})).collect::<Vec<_>>(),
    }))
}

fn draw(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let lines: Vec<String> = text.lines().map(|line| format!("{line}{REST_OF_LINE}\n")).collect();
    write!(out, "{HOME}{}{BELOW}", lines.concat())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::Session;

    use super::*;

    #[test]
    fn what_only_the_home_knows_is_put_together() {
        let left = Some(prost_types::Duration { seconds: 1, nanos: 0 });
        let session = |opened_revision, remaining| Session { opened_revision, remaining, ..Session::default() };
        let list = |sessions| ListSessionsResponse { sessions, ..Default::default() };
        let mut all = list(vec![session(1, left), session(3, None), session(5, None)]);
        add_remaining(&mut all, list(vec![session(1, None), session(2, left), session(3, left), session(5, None)]));
        let known: Vec<bool> = all.sessions.iter().map(|session| session.remaining.is_some()).collect();
        assert_eq!(known, [true, true, false]);
    }
}
