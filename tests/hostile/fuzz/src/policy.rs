//! Parsing and evaluation of the policy file.

use tenure_server::auth::fuzzing::Policy;
use tenure_server::auth::{Identity, Rights, Verb};
use toml::{Table, Value};

const VERBS: [Verb; 4] = [Verb::Acquire, Verb::Read, Verb::Watch, Verb::Operate];

/// Any text is rejected with a reason, or is a policy that permits exactly the granted rules.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let policy = match Policy::parse(text) {
        Ok(policy) => policy,
        Err(problem) => return assert!(!problem.is_empty()),
    };
    let file: Table = text.parse().expect("it was read as TOML");
    let texts = texts(&Value::Table(file.clone()));
    for name in texts.iter().chain(&["".to_owned(), "ann".to_owned(), "a/x".to_owned()]).take(8) {
        for identity in [Identity::of_token(name), Identity::of_subject(name)] {
            let rights = policy.rights(&identity);
            for verb in VERBS {
                for namespace in ["default", "blue"] {
                    check(&rights, &granted(&file, &identity, verb, namespace), verb, namespace, &texts);
                }
            }
        }
    }
}

/// The names in the rules granted to an identity for a verb in a namespace. `None`: a rule for all names.
fn granted(file: &Table, identity: &Identity, verb: Verb, namespace: &str) -> Vec<Option<Vec<String>>> {
    let is_for_identity = |grant: &&Value| {
        let granted = grant["identity"].as_str().expect("checked");
        match granted.strip_suffix('*') {
            Some(start) => identity.as_str().starts_with(start),
            None => identity.as_str() == granted,
        }
    };
    let grants = file.get("grants").and_then(Value::as_array).into_iter().flatten().filter(is_for_identity);
    let roles = grants.flat_map(|grant| strings(&grant["roles"]));
    let rules = roles.flat_map(|role| file["roles"][role].as_array().expect("checked").clone());
    let rules = rules.filter(|rule| {
        let here = |namespaces| strings(namespaces).iter().any(|known| known == namespace);
        strings(&rule["verbs"]).contains(&verb.to_string()) && rule.get("namespaces").is_none_or(here)
    });
    rules.map(|rule| rule.get("names").map(strings)).collect()
}

fn check(rights: &Rights, rules: &[Option<Vec<String>>], verb: Verb, namespace: &str, texts: &[String]) {
    let is_for_all = rules.iter().any(Option::is_none);
    assert!(!rights.are_all(), "a policy permits everything by default");
    assert!(!rights.are_none() || rules.is_empty());
    assert_eq!(rights.allow_some(verb, namespace), !rules.is_empty());
    assert_eq!(rights.allow_every(verb, namespace), is_for_all);
    assert_eq!(rights.allow_prefix(verb, namespace, ""), is_for_all);
    let tops: Vec<&String> = rules.iter().flatten().flatten().collect();
    let is_below = |name: &str| tops.iter().any(|top| name == *top || name.starts_with(&format!("{top}/")));
    for name in texts.iter().take(8).flat_map(|text| [text.clone(), format!("{text}/x"), format!("{text}b")]) {
        assert_eq!(rights.allow(verb, namespace, &name), is_for_all || is_below(&name), "{verb} {name:?}");
        if rights.allow_prefix(verb, namespace, &name) {
            assert!(rights.allow(verb, namespace, &format!("{name}x")), "{verb} {name:?}");
        }
    }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// All strings in a file, and their parts after the kind of an identity.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let name = text.split_once(':').map(|(_, name)| name.trim_end_matches('*').to_owned());
            name.into_iter().chain([text.clone()]).collect()
        }
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Table(table) => table.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
