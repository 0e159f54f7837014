//! Names of locks, groups, sessions and namespaces, and the rules that cover them.

use tenure_server::auth::fuzzing::Policy;
use tenure_server::auth::{Identity, Rights, Verb};
use tenure_server::grpc::fuzzing as bounds;
use tonic::Status;

/// Accepted names are within the bounds; others are rejected with their field. A rule for a name covers it and all
/// names below it, but no other name with the same prefix; and a list visits exactly the names that a rule covers.
pub fn names(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let parts: Vec<&str> = text.split('\n').collect();
    parts.iter().for_each(|part| check_bounds(part));
    let many: Vec<String> = parts.iter().map(ToString::to_string).collect();
    if let Some(names) = check(bounds::names(&many), "names") {
        assert!((1..=16).contains(&names.len()) && names.len() == many.len());
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "not sorted, or not unique: {names:?}");
    }
    let [prefix, name, tops @ ..] = parts.as_slice() else { return };
    if let Some(rights) = rights(tops) {
        check_rule(&rights, tops, name, prefix);
        check_list(tops, name, prefix);
    }
}

fn check_bounds(text: &str) {
    let fits = |max: usize| text.len() <= max && !text.contains(char::is_control);
    let is_namespace = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    let namespace = check(bounds::namespace(text), "namespace");
    assert_eq!(namespace.is_some(), text.len() <= 63 && text.bytes().all(is_namespace), "{text:?}");
    assert!(namespace.is_none_or(|namespace| namespace == if text.is_empty() { "default" } else { text }));
    let name = check(bounds::name("name", text), "name");
    assert_eq!(name.is_some(), !text.is_empty() && fits(255), "{text:?}");
    assert!(name.is_none_or(|name| *name == *text));
    assert_eq!(check(bounds::prefix(text), "prefix").is_some(), fits(255), "{text:?}");
    let session = check(bounds::session_id("session_id", text), "session_id");
    assert_eq!(session.is_some(), !text.is_empty() && fits(128), "{text:?}");
}

/// The accepted value; a rejection names its field and is short.
fn check<T>(outcome: Result<T, Status>, field: &str) -> Option<T> {
    let refusal = match outcome {
        Ok(accepted) => return Some(accepted),
        Err(status) => bounds::refusal(&status),
    };
    assert_eq!(refusal.reason, "INVALID_FIELD");
    let (named, bound) = (&refusal.metadata["field"], &refusal.metadata["bound"]);
    assert!(named.starts_with(field) && !bound.is_empty(), "{refusal:?}");
    assert_eq!(refusal.message, format!("{named}: {bound}"));
    assert!(refusal.message.len() < 600 && !refusal.message.contains(char::is_control), "{refusal:?}");
    None
}

/// The rights granted by a rule for these names; none if they are invalid in a rule.
fn rights(tops: &[&str]) -> Option<Rights> {
    let list = toml::Value::from(tops.to_vec());
    let rule = format!("[[roles.r]]\nverbs = [\"read\"]\nnames = {list}\n");
    let policy = format!("{rule}[[grants]]\nidentity = \"token:ann\"\nroles = [\"r\"]\n");
    let is_valid = !tops.is_empty() && tops.iter().all(|top| !top.is_empty() && !top.ends_with(['/', '*']));
    match Policy::parse(&policy) {
        Ok(policy) => {
            assert!(is_valid, "{tops:?}");
            Some(policy.rights(&Identity::of_token("ann")))
        }
        Err(problem) => {
            assert!(!is_valid && problem.starts_with("roles.r: names: "), "{problem}");
            None
        }
    }
}

/// Whether a name is one of these, or below one.
fn is_below(tops: &[&str], name: &str) -> bool {
    tops.iter().any(|top| name == *top || name.starts_with(&format!("{top}/")))
}

fn check_rule(rights: &Rights, tops: &[&str], name: &str, prefix: &str) {
    assert_eq!(rights.allow(Verb::Read, "default", name), is_below(tops, name), "{name:?} by {tops:?}");
    assert!(!rights.allow(Verb::Acquire, "default", name), "another verb is allowed");
    for top in tops {
        assert!(rights.allow(Verb::Read, "default", top) && rights.allow(Verb::Read, "default", &format!("{top}/x")));
        let beside = format!("{top}b");
        assert_eq!(rights.allow(Verb::Read, "default", &beside), is_below(tops, &beside), "{beside:?} by {tops:?}");
    }
    if rights.allow_prefix(Verb::Read, "default", prefix) {
        for rest in ["", "/", "x", "/x", name] {
            assert!(rights.allow(Verb::Read, "default", &format!("{prefix}{rest}")), "{prefix:?} by {tops:?}");
        }
    } else {
        let covering = tops.iter().any(|top| prefix.starts_with(&format!("{top}/")));
        assert!(!covering, "{prefix:?} by {tops:?}");
    }
}

/// A list returns all readable names with the prefix, and each only once.
fn check_list(tops: &[&str], name: &str, prefix: &str) {
    let pieces = bounds::readable(tops.iter().map(ToString::to_string).collect(), prefix);
    let extended = format!("{prefix}{name}");
    let candidates = tops.iter().flat_map(|top| [(*top).to_owned(), format!("{top}/{name}"), format!("{top}{name}")]);
    for candidate in candidates.chain([name.to_owned(), prefix.to_owned(), extended]) {
        let has = |(start, is_open): &&(String, bool)| {
            candidate == *start || (*is_open && candidate.starts_with(start.as_str()))
        };
        let listed = pieces.iter().filter(has).count();
        let wanted = candidate.starts_with(prefix) && is_below(tops, &candidate);
        assert_eq!(listed, usize::from(wanted), "{candidate:?} in {pieces:?}");
    }
    assert!(pieces.windows(2).all(|pair| pair[0].0 < pair[1].0), "not sorted: {pieces:?}");
}
