//! Formats sessions as text.

use tenure_proto::v1::{ClaimState, GetSessionResponse, ListSessionsResponse, Mode, Session};

use super::Shown;
use super::locks::{claims, metadata, or_dash};
use super::style::escape;
use super::table::{Table, column, ids, numbers};
use super::terms::{mode, notes};
use super::time::{duration, rough};

/// A list of sessions.
pub fn sessions(response: &ListSessionsResponse) -> Shown {
    if response.sessions.is_empty() {
        return Shown::nothing("no session is open");
    }
    let mut table = Table::new([
        ids("SESSION", 2),
        column("OWNER", 1),
        numbers("TTL", 4),
        numbers("GRACE", 5),
        column("HOLDS", 3),
        column("WAITS FOR", 3),
        column("METADATA", 6),
    ]);
    for session in &response.sessions {
        table.row([
            escape(&session.id).into(),
            or_dash(&session.owner).into(),
            duration(session.ttl).into(),
            duration(session.disconnect_grace).into(),
            names(session, ClaimState::Held).into(),
            names(session, ClaimState::Waiting).into(),
            metadata(&session.metadata).into(),
        ]);
    }
    table.finish().into()
}

/// One session with all that it holds and waits for.
pub fn session(response: &GetSessionResponse) -> String {
    let Some(session) = &response.session else { return "no such session is open".to_owned() };
    let mut text = format!(
        "session {}\nowner {}\nttl {}\ndisconnect grace {}\nremaining at least {}\nmetadata {}\nopened at revision {}",
        escape(&session.id),
        or_dash(&session.owner),
        duration(session.ttl),
        duration(session.disconnect_grace),
        match session.remaining {
            Some(_) => rough(session.remaining),
            None => "- (renewed at another server)".to_owned(),
        },
        metadata(&session.metadata),
        session.opened_revision,
    );
    text.push_str(&notes(session.claims.iter()));
    match session.claims.as_slice() {
        [] => text.push_str("\nno claims"),
        held => text.push_str(&format!("\n\n{}", claims(held.iter()))),
    }
    text
}

/// The names of the claims in a state, with notes on mode, handoff and deadlock.
fn names(session: &Session, state: ClaimState) -> String {
    let mut names = Vec::new();
    for claim in session.claims.iter().filter(|claim| claim.state() == state) {
        let mut notes = Vec::new();
        if !matches!(claim.mode(), Mode::Unspecified | Mode::Exclusive) {
            notes.push(mode(claim));
        }
        if claim.transfer.is_some() {
            notes.push("handing over".to_owned());
        }
        if !claim.deadlock.is_empty() {
            notes.push("deadlock".to_owned());
        }
        let note = if notes.is_empty() { String::new() } else { format!("({})", notes.join(", ")) };
        names.extend(claim.names.iter().map(|name| format!("{}{note}", escape(name))));
    }
    if session.claim_count > session.claims.len() as u64 {
        names.push(format!("... ({} of {} claims listed)", session.claims.len(), session.claim_count));
    }
    if names.is_empty() { "-".to_owned() } else { names.join(" ") }
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::Claim;

    use super::*;

    fn busy() -> Session {
        Session {
            id: "worker-7".into(),
            ttl: Some(prost_types::Duration { seconds: 10, nanos: 0 }),
            disconnect_grace: Some(prost_types::Duration { seconds: 0, nanos: 300_000_000 }),
            owner: "host-a".into(),
            claims: vec![
                Claim { names: vec!["a".into(), "b".into()], state: ClaimState::Held.into(), ..Claim::default() },
                Claim { names: vec!["c".into()], state: ClaimState::Waiting.into(), ..Claim::default() },
            ],
            ..Session::default()
        }
    }

    fn listed(one: Session) -> String {
        sessions(&ListSessionsResponse { sessions: vec![one], ..Default::default() }).text.unwrap()
    }

    #[test]
    fn a_list_shows_what_is_held_and_waited_for() {
        let text = listed(busy());
        let row = text.lines().nth(1).unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["worker-7", "host-a", "10s", "300ms", "a", "b", "c", "-"]
        );
    }

    #[test]
    fn special_cases_are_noted_with_the_name() {
        let mut session_ = busy();
        let cycle = vec!["worker-7".to_owned(), "worker-8".to_owned()];
        session_.claims[0].set_mode(Mode::Shared);
        session_.claims[1] = Claim { deadlock: cycle, ..session_.claims[1].clone() };
        let text = listed(session_.clone());
        assert!(text.contains("a(shared) b(shared)  c(deadlock)"), "{text}");
        let text = session(&GetSessionResponse { session: Some(session_), revision: 1 });
        assert!(text.contains("\ndeadlock: worker-7 -> worker-8 -> worker-7\n"), "{text}");
    }

    #[test]
    fn session_without_a_known_end_is_marked() {
        let text = session(&GetSessionResponse { session: Some(busy()), revision: 1 });
        assert!(text.contains("renewed at another server"), "{text}");
        assert_eq!(sessions(&ListSessionsResponse::default()), Shown::nothing("no session is open"));
    }

    #[test]
    fn session_shows_its_disconnect_grace_if_it_has_one() {
        let shown = |found: Session| session(&GetSessionResponse { session: Some(found), revision: 1 });
        assert!(shown(busy()).contains("\ndisconnect grace 300ms\n"));
        assert!(shown(Session { disconnect_grace: None, ..busy() }).contains("\ndisconnect grace -\n"));
    }
}
