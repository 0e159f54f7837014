//! What a terminal shows while a command waits: who holds the lock, and the place in the queue.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tenure_client::{Client, Lock, Session, WatchOptions};
use tokio::time::sleep;

use crate::output::{describe_holder, plain};

/// A wait that is shorter than this is not worth a word.
const SHORT: Duration = Duration::from_millis(300);

/// Shows it until dropped; then the line is wiped off. Without a terminal it says nothing. Never ends.
pub async fn show(client: &Client, session: &Session, names: &[String], quiet: bool) {
    if quiet || !io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    sleep(SHORT).await;
    let mut line = Line::default();
    let mut changes = client.watch(WatchOptions::names(names));
    while let Some(change) = changes.next().await {
        if change.is_err() {
            continue;
        }
        if let Some(text) = look(client, session, names).await {
            line.show(&text);
        }
    }
    std::future::pending().await
}

/// What is to be said about the first lock that is not ours.
async fn look(client: &Client, session: &Session, names: &[String]) -> Option<String> {
    for name in names {
        let lock = client.get_lock(name.as_str()).await.ok()?;
        if let Some(text) = describe(&lock, session.id()) {
            return Some(text);
        }
    }
    None
}

fn describe(lock: &Lock, session: &str) -> Option<String> {
    let holder = lock.holders.first().filter(|_| lock.holders.iter().all(|claim| claim.session_id != session))?;
    let others = match lock.holder_count {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let place = match lock.waiters.iter().position(|claim| claim.session_id == session) {
        Some(0) => "; you are next".to_owned(),
        Some(ahead) => format!("; {ahead} before you in the queue"),
        None => String::new(),
    };
    Some(format!("waiting for {}: {}{others}{place}", plain(&lock.name), describe_holder(holder)))
}

/// One line at the bottom of the terminal.
#[derive(Default)]
struct Line {
    shown: bool,
}

impl Line {
    fn show(&mut self, text: &str) {
        self.shown = true;
        let _ = write!(io::stderr(), "\r\u{1b}[2K{text}");
        let _ = io::stderr().flush();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\u{1b}[2K");
            let _ = io::stderr().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_client::{Claim, ClaimState, LockSettings, Mode};

    use super::*;

    fn claim(session: &str, token: Option<u64>) -> Claim {
        Claim {
            id: 1,
            names: vec!["nightly".into()],
            state: if token.is_some() { ClaimState::Held } else { ClaimState::Waiting },
            token,
            session_id: session.into(),
            owner: String::new(),
            metadata: Default::default(),
            priority: 0,
            min_hold: Duration::ZERO,
            mode: Mode::Exclusive,
            transfer: None,
            deadlock: Vec::new(),
        }
    }

    fn lock(waiters: &[&str]) -> Lock {
        Lock {
            name: "nightly".into(),
            holders: vec![claim("a", Some(41))],
            waiters: waiters.iter().map(|session| claim(session, None)).collect(),
            waiter_count: waiters.len() as u64,
            holder_count: 1,
            limit: None,
            settings: LockSettings::default(),
        }
    }

    #[test]
    fn the_holder_and_the_place_are_told() {
        let text = describe(&lock(&["b", "me"]), "me").unwrap();
        assert_eq!(text, "waiting for nightly: held by session a, token 41; 1 before you in the queue");
        assert!(describe(&lock(&["me"]), "me").unwrap().ends_with("; you are next"));
        assert!(describe(&lock(&[]), "me").unwrap().ends_with("token 41"));
    }

    #[test]
    fn several_holders_are_counted() {
        let (mut lock, me) = (lock(&["me"]), "me");
        lock.holders.push(claim("b", Some(42)));
        lock.holder_count = 2;
        let text = describe(&lock, me).unwrap();
        assert_eq!(text, "waiting for nightly: held by session a, token 41 and 1 more; you are next");
        assert_eq!(describe(&lock, "b"), None);
    }

    #[test]
    fn ones_own_hold_is_no_reason_to_wait() {
        assert_eq!(describe(&lock(&[]), "a"), None);
    }
}
