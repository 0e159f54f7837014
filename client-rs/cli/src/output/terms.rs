//! Formats the mode of claims, the permits and settings of locks, and deadlocks.

use tenure_proto::v1::{Claim, EndReason, Lock, LockSettings, Mode};

use super::style::escape;
use super::time::duration;

/// A claim's mode in one word: `exclusive`, `shared`, `2/5` (2 of the 5 permits).
pub fn mode(claim: &Claim) -> String {
    match claim.mode() {
        Mode::Unspecified | Mode::Exclusive => "exclusive".to_owned(),
        Mode::Shared => "shared".to_owned(),
        Mode::Permits => format!("{}/{}", claim.permits, claim.limit),
    }
}

/// A claim's mode as a suffix to its holder: empty for an exclusive one.
pub fn in_mode(claim: &Claim) -> String {
    match claim.mode() {
        Mode::Unspecified | Mode::Exclusive => String::new(),
        Mode::Shared => ", shared".to_owned(),
        Mode::Permits => format!(", {} of {} permits", claim.permits, claim.limit),
    }
}

/// The mode in which a lock is held: `exclusive`, `shared`, `3/5` (3 of its 5 permits are taken), or `-` if it has no
/// holder.
pub fn held_mode(lock: &Lock) -> String {
    match lock.holders.first() {
        Some(claim) if claim.mode() != Mode::Permits => mode(claim),
        None if lock.limit == 0 => "-".to_owned(),
        _ => format!("{}/{}", permits_out(lock), lock.limit),
    }
}

/// The number of permits taken, with a `+` if not all holders are listed.
pub fn permits_out(lock: &Lock) -> String {
    let out: u64 = lock.holders.iter().map(|claim| u64::from(claim.permits)).sum();
    let more = lock.holder_count > lock.holders.len() as u64;
    format!("{out}{}", if more { "+" } else { "" })
}

/// The reason why a claim or a membership has ended, in one word.
pub fn end_reason(reason: EndReason) -> &'static str {
    if reason == EndReason::Unspecified { "ended" } else { reason.word() }
}

/// Describes the settings made by operators.
pub fn settings(settings: Option<&LockSettings>) -> String {
    let settings = settings.cloned().unwrap_or_default();
    let mut parts = Vec::new();
    if settings.limit > 0 {
        parts.push(format!("limit {}", settings.limit));
    }
    if let Some(preempt) = &settings.preempt {
        let (settling, drain) = (duration(preempt.settling), duration(preempt.drain));
        parts.push(format!("preempt (settling {settling}, drain {drain})"));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// Describes a pending handoff, if there is one: the target session and the drain time.
pub fn handoff(claim: &Claim) -> Option<String> {
    let pending = claim.transfer.as_ref()?;
    let to = match pending.to_session_id.as_str() {
        "" => String::new(),
        session => format!(" to session {}", escape(session)),
    };
    Some(format!("asked to hand over{to} within {}", duration(pending.drain)))
}

/// The operator of an action and the note, as a suffix; empty if there is none.
pub fn by(operator: &str, note: &str) -> String {
    let mut text = String::new();
    if !operator.is_empty() {
        text.push_str(&format!(" by {}", escape(operator)));
    }
    if !note.is_empty() {
        text.push_str(&format!(" ({})", escape(note)));
    }
    text
}

/// The pending handoffs of these claims, and their deadlocks, each on a new line.
pub fn notes<'a>(claims: impl Iterator<Item = &'a Claim> + Clone) -> String {
    let handoffs = claims.clone().filter_map(|claim| Some(format!("\ntoken {} is {}", claim.token, handoff(claim)?)));
    let deadlocks = cycles(claims).into_iter().map(|cycle| format!("\ndeadlock: {}", chain(&cycle)));
    handoffs.chain(deadlocks).collect()
}

/// The cycles of sessions in which these claims wait for each other, each once.
pub fn cycles<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Vec<Vec<&'a str>> {
    let mut cycles = Vec::new();
    for claim in claims {
        if let Some(cycle) = cycle(claim)
            && !cycles.contains(&cycle)
        {
            cycles.push(cycle);
        }
    }
    cycles
}

/// The cycle of a claim, starting with the first session in byte order, so that all its members yield the same one.
pub fn cycle(claim: &Claim) -> Option<Vec<&str>> {
    let mut cycle: Vec<&str> = claim.deadlock.iter().map(String::as_str).collect();
    let first = cycle.iter().enumerate().min_by_key(|(_, session)| **session)?.0;
    cycle.rotate_left(first);
    Some(cycle)
}

/// A cycle as a chain that ends with its first session.
pub fn chain(cycle: &[&str]) -> String {
    let sessions = cycle.iter().chain(cycle.first());
    sessions.map(|session| escape(session)).collect::<Vec<_>>().join(" -> ")
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::{PendingTransfer, Preempt};

    use super::*;

    fn seconds(seconds: i64) -> Option<prost_types::Duration> {
        Some(prost_types::Duration { seconds, nanos: 0 })
    }

    fn permits(permits: u32) -> Claim {
        Claim { mode: Mode::Permits.into(), permits, limit: 5, ..Claim::default() }
    }

    #[test]
    fn permits_are_counted_over_all_holders() {
        let lock = Lock { holders: vec![permits(1), permits(2)], holder_count: 2, limit: 5, ..Lock::default() };
        assert_eq!(held_mode(&lock), "3/5");
        assert_eq!(held_mode(&Lock { holder_count: 3, ..lock }), "3+/5");
        assert_eq!(held_mode(&Lock { limit: 5, ..Lock::default() }), "0/5");
        assert_eq!(held_mode(&Lock::default()), "-");
        assert_eq!((mode(&permits(2)), in_mode(&permits(2))), ("2/5".into(), ", 2 of 5 permits".into()));
    }

    #[test]
    fn settings_are_shown_in_words() {
        let preempt = Some(Preempt { settling: seconds(1), drain: seconds(10) });
        assert_eq!(settings(Some(&LockSettings { limit: 5, preempt })), "limit 5, preempt (settling 1s, drain 10s)");
        assert_eq!(settings(None), "nothing");
    }

    #[test]
    fn handoff_shows_its_target_if_known() {
        let asked = |to: &str| {
            let transfer = Some(PendingTransfer { to_session_id: to.into(), drain: seconds(10), ..Default::default() });
            handoff(&Claim { transfer, ..Claim::default() })
        };
        assert_eq!(asked("s2").unwrap(), "asked to hand over to session s2 within 10s");
        assert_eq!(asked("").unwrap(), "asked to hand over within 10s");
        assert_eq!(handoff(&Claim::default()), None);
    }

    #[test]
    fn circle_is_shown_once_wherever_it_begins() {
        let claim = |sessions: [&str; 3]| Claim { deadlock: sessions.map(str::to_owned).to_vec(), ..Claim::default() };
        let claims = [claim(["b", "c", "a"]), claim(["a", "b", "c"]), claim(["a", "c", "b"]), Claim::default()];
        let cycles = cycles(&claims);
        assert_eq!(cycles, [["a", "b", "c"], ["a", "c", "b"]]);
        assert_eq!(chain(&cycles[0]), "a -> b -> c -> a");
    }
}
