//! Formats blocked claims, and the claims that block them, as text.

use tenure_proto::v1::{BlockedClaim, ListBlockedResponse};

use super::Shown;
use super::locks::{describe_claim, or_dash};
use super::style::{Tint, escape};
use super::table::{Cell, Table, column, ids, tinted};
use super::terms::{chain, cycle, cycles, mode};

/// The waiting claims with the claims that block them, and the cycles among them.
pub fn blocked(response: &ListBlockedResponse, deadlocks_only: bool) -> Shown {
    if response.blocked.is_empty() {
        return Shown::nothing(if deadlocks_only { "no deadlock" } else { "no session waits" });
    }
    let cycles = cycles(response.blocked.iter().filter_map(|blocked| blocked.claim.as_ref()));
    let mut table = Table::new([
        column("WAITS FOR", 1),
        ids("SESSION", 3),
        column("OWNER", 2),
        column("MODE", 4),
        column("SINCE", 5),
        column("DEADLOCK", 1),
        column("BEHIND", 1),
    ]);
    for blocked in &response.blocked {
        let claim = blocked.claim.clone().unwrap_or_default();
        let number = cycle(&claim).and_then(|cycle| cycles.iter().position(|known| *known == cycle));
        table.row([
            claim.names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(" ").into(),
            escape(&claim.session_id).into(),
            or_dash(&claim.owner).into(),
            mode(&claim).into(),
            format!("rev {}", claim.id).into(),
            number.map_or_else(|| Cell::from("-"), |number| tinted(format!("#{}", number + 1), Tint::Bad)),
            behind(blocked).into(),
        ]);
    }
    let mut text = table.finish();
    if cycles.is_empty() {
        return text.into();
    }
    text.push('\n');
    for (number, cycle) in cycles.iter().enumerate() {
        text.push_str(&format!("\ndeadlock #{}: {}", number + 1, chain(cycle)));
    }
    text.push_str("\na deadlock lasts until one of its sessions ends: tenure close SESSION");
    text.into()
}

fn behind(blocked: &BlockedClaim) -> String {
    let mut names: Vec<String> = blocked
        .blocked_by
        .iter()
        .map(|claim| match claim.token {
            0 => format!("{}, waiting", describe_claim(claim)),
            token => format!("{}, token {token}", describe_claim(claim)),
        })
        .collect();
    if blocked.truncated {
        names.push("…".to_owned());
    }
    if names.is_empty() {
        return "-".to_owned();
    }
    names.join("; ")
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::Claim;

    use super::*;

    fn waits(session: &str, name: &str, cycle: &[&str]) -> Claim {
        Claim {
            id: 7,
            names: vec![name.into()],
            session_id: session.into(),
            deadlock: cycle.iter().map(|session| (*session).to_owned()).collect(),
            ..Claim::default()
        }
    }

    fn holds(session: &str, token: u64) -> Claim {
        Claim { session_id: session.into(), token, ..Claim::default() }
    }

    #[test]
    fn deadlocks_are_numbered_and_shown_with_their_circle() {
        let blocked_ = |claim, by| BlockedClaim { claim: Some(claim), blocked_by: vec![by], truncated: false };
        let response = ListBlockedResponse {
            blocked: vec![
                blocked_(waits("ann", "b", &["ann", "bob"]), holds("bob", 4)),
                blocked_(waits("bob", "a", &["bob", "ann"]), holds("ann", 3)),
                blocked_(waits("cid", "a", &[]), waits("bob", "a", &[])),
            ],
            ..ListBlockedResponse::default()
        };
        let text = blocked(&response, false).text.unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[1]), "b ann - exclusive rev 7 #1 session bob, token 4");
        assert_eq!(words(lines[2]), "a bob - exclusive rev 7 #1 session ann, token 3");
        assert_eq!(words(lines[3]), "a cid - exclusive rev 7 - session bob, waiting");
        assert_eq!(lines[4..6], ["", "deadlock #1: ann -> bob -> ann"]);
        assert!(lines[6].contains("tenure close SESSION"), "{text}");
        assert_eq!(lines.len(), 7, "{text}");
    }

    #[test]
    fn truncated_blockers_end_in_an_ellipsis() {
        let blocked_by = vec![holds("bob", 4), waits("cid", "b", &[])];
        let mut claim = BlockedClaim { claim: Some(waits("ann", "b", &[])), blocked_by, truncated: false };
        assert_eq!(behind(&claim), "session bob, token 4; session cid, waiting");
        claim.truncated = true;
        assert_eq!(behind(&claim), "session bob, token 4; session cid, waiting; …");
        claim.blocked_by.clear();
        assert_eq!(behind(&claim), "…");
    }

    #[test]
    fn empty_list_of_blocked_claims_is_marked() {
        assert_eq!(blocked(&ListBlockedResponse::default(), false), Shown::nothing("no session waits"));
        assert_eq!(blocked(&ListBlockedResponse::default(), true), Shown::nothing("no deadlock"));
    }
}
