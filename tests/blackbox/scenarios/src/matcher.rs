//! Comparison of replies with expectations.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Values stored by name, for later comparisons and requests.
pub type Stored = BTreeMap<String, Value>;

/// A difference between a reply and the expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path in the reply, such as `holder.token`.
    pub path: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: Value,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, expected, got } = self;
        let location = if path.is_empty() { "the reply" } else { path };
        write!(formatter, "{location}: expected {expected}, got {got}")
    }
}

/// The keys that make an object a condition instead of a value to compare with.
const CONDITIONS: [&str; 8] = ["above", "below", "one_of", "absent", "any", "length", "contains", "not"];

/// Compares a reply with the expectation. Values of new names are stored, if everything matches.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &Value, got: &Value, stored: &mut Stored) -> Result<(), Mismatch> {
    let mut found = stored.clone();
    at("", expected, got, &mut found)?;
    *stored = found;
    Ok(())
}

fn at(path: &str, expected: &Value, got: &Value, stored: &mut Stored) -> Result<(), Mismatch> {
    let differs = |expected: &str| Mismatch { path: path.to_owned(), expected: expected.to_owned(), got: got.clone() };
    match expected {
        Value::String(name) if name.starts_with('$') => match stored.get(&name[1..]) {
            Some(value) if equal(value, got) => Ok(()),
            Some(value) => Err(differs(&format!("{name}, which is {value}"))),
            None if got.is_null() => Err(differs(&format!("a value to store as {name}"))),
            None => {
                stored.insert(name[1..].to_owned(), got.clone());
                Ok(())
            }
        },
        Value::Object(conditions) if is_condition(conditions) => {
            conditions.iter().try_for_each(|(name, value)| condition(path, name, value, got, stored))
        }
        Value::Object(fields) => {
            let Value::Object(actual) = got else { return Err(differs(&expected.to_string())) };
            for (name, value) in fields {
                at(&join(path, name), value, actual.get(name).unwrap_or(&Value::Null), stored)?;
            }
            Ok(())
        }
        Value::Array(values) => match got {
            Value::Array(actual) if actual.len() == values.len() => {
                let mut pairs = values.iter().zip(actual).enumerate();
                pairs
                    .try_for_each(|(index, (value, actual))| at(&join(path, &index.to_string()), value, actual, stored))
            }
            _ => Err(differs(&format!("a list of {}: {expected}", values.len()))),
        },
        _ if equal(expected, got) => Ok(()),
        _ => Err(differs(&expected.to_string())),
    }
}

fn is_condition(object: &Map<String, Value>) -> bool {
    !object.is_empty() && object.keys().all(|key| CONDITIONS.contains(&key.as_str()))
}

fn condition(path: &str, name: &str, value: &Value, got: &Value, stored: &mut Stored) -> Result<(), Mismatch> {
    let wanted = resolve(value, stored);
    let check = |holds: bool| {
        let expected = json!({ name: wanted }).to_string();
        if holds { Ok(()) } else { Err(Mismatch { path: path.to_owned(), expected, got: got.clone() }) }
    };
    match name {
        "above" => check(number(got).zip(number(&wanted)).is_some_and(|(got, wanted)| got > wanted)),
        "below" => check(number(got).zip(number(&wanted)).is_some_and(|(got, wanted)| got < wanted)),
        "absent" => check(got.is_null() == (value == &Value::Bool(true))),
        "any" => check(!got.is_null()),
        "not" => {
            let matches = at(path, value, got, &mut stored.clone()).is_ok();
            check(!matches)
        }
        "length" => match length(got) {
            Some(length) => at(&join(path, "length"), value, &json!(length), stored),
            None => check(false),
        },
        "one_of" => {
            let choices = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let found = choices.iter().find_map(|choice| fits(path, choice, got, stored));
            check(found.is_some())?;
            *stored = found.unwrap_or_default();
            Ok(())
        }
        "contains" => {
            let items = got.as_array().map(Vec::as_slice).unwrap_or_default();
            for wanted in value.as_array().map(Vec::as_slice).unwrap_or_default() {
                let found = items.iter().find_map(|item| fits(path, wanted, item, stored));
                check(found.is_some())?;
                *stored = found.unwrap_or_default();
            }
            Ok(())
        }
        _ => check(false),
    }
}

/// The stored values after the comparison, if it matches.
fn fits(path: &str, expected: &Value, got: &Value, stored: &Stored) -> Option<Stored> {
    let mut found = stored.clone();
    at(path, expected, got, &mut found).is_ok().then_some(found)
}

/// Replaces names with their stored values. A list in place of a name in a list is spliced in.
#[must_use]
pub fn resolve(value: &Value, stored: &Stored) -> Value {
    match value {
        Value::String(name) if name.starts_with('$') => stored.get(&name[1..]).unwrap_or(value).clone(),
        Value::Array(values) => {
            let spread = values.iter().flat_map(|value| match resolve(value, stored) {
                Value::Array(inner) if value.is_string() => inner,
                one => vec![one],
            });
            Value::Array(spread.collect())
        }
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), resolve(value, stored))).collect())
        }
        _ => value.clone(),
    }
}

fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && number(one) == number(other))
}

/// Revisions and durations are integers, which some languages write as `7.0`.
fn number(value: &Value) -> Option<i128> {
    value
        .as_i64()
        .map(i128::from)
        .or_else(|| value.as_u64().map(i128::from))
        .or_else(|| value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i128))
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Array(values) => Some(values.len()),
        Value::Object(fields) => Some(fields.len()),
        Value::String(text) => Some(text.len()),
        _ => None,
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails_at(expected: Value, got: Value) -> Option<String> {
        compare(&expected, &got, &mut Stored::new()).err().map(|mismatch| mismatch.path)
    }

    #[track_caller]
    fn fits(expected: Value, got: Value) {
        assert_eq!(fails_at(expected.clone(), got.clone()), None, "{expected} and {got}");
    }

    #[track_caller]
    fn differs(expected: Value, got: Value, path: &str) {
        assert_eq!(fails_at(expected.clone(), got.clone()).as_deref(), Some(path), "{expected} and {got}");
    }

    #[test]
    fn fields_without_expectation_are_ignored() {
        fits(json!({"a": 1}), json!({"a": 1, "b": 2}));
        fits(json!({}), json!({"b": 2}));
        differs(json!({"a": 1}), json!({"a": 2}), "a");
        differs(json!({"a": {"b": [1, 2]}}), json!({"a": {"b": [1, 3]}}), "a.b.1");
        differs(json!({"a": 1}), json!({}), "a");
        differs(json!({"a": 1}), json!("a"), "");
    }

    #[test]
    fn lists_of_different_lengths_differ() {
        fits(json!([1, {"a": 2}]), json!([1, {"a": 2, "b": 3}]));
        differs(json!([1]), json!([1, 2]), "");
        differs(json!([1]), json!(1), "");
    }

    #[test]
    fn absent_fields_equal_null() {
        fits(json!({"a": null}), json!({}));
        fits(json!({"a": {"absent": true}}), json!({"a": null}));
        differs(json!({"a": {"absent": true}}), json!({"a": false}), "a");
        differs(json!({"a": {"any": true}}), json!({"a": null}), "a");
        fits(json!({"a": {"any": true}}), json!({"a": 0}));
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        fits(json!({"above": 6}), json!(7));
        fits(json!(7), json!(7.0));
        differs(json!({"above": 7}), json!(7), "");
        differs(json!({"above": 7}), json!(null), "");
        differs(json!({"above": 7}), json!("8"), "");
        differs(json!({"below": 7}), json!(7), "");
        fits(json!({"above": 1, "below": 9_007_199_254_740_993_i64}), json!(9_007_199_254_740_992_i64));
        differs(json!({"above": 1, "below": 3}), json!(4), "");
    }

    #[test]
    fn conditions_apply_to_lists() {
        fits(json!({"length": 2}), json!([1, 2]));
        differs(json!({"length": 2}), json!([1]), "length");
        differs(json!({"length": 2}), json!(2), "");
        fits(json!({"contains": [{"a": 2}, {"a": 1}]}), json!([{"a": 1}, {"a": 2}, {"a": 3}]));
        differs(json!({"contains": [{"a": 4}]}), json!([{"a": 1}]), "");
        fits(json!({"one_of": [1, {"above": 5}]}), json!(6));
        differs(json!({"one_of": [1, {"above": 5}]}), json!(4), "");
        differs(json!({"one_of": []}), json!(4), "");
    }

    #[test]
    fn not_inverts_a_match() {
        fits(json!({"not": "a"}), json!("b"));
        differs(json!({"not": "a"}), json!("a"), "");
    }

    #[test]
    fn name_is_stored_on_first_use_and_compared_afterwards() {
        let mut stored = Stored::new();
        compare(&json!({"token": "$first"}), &json!({"token": 7}), &mut stored).unwrap();
        assert_eq!(stored["first"], json!(7));
        compare(&json!({"token": "$first"}), &json!({"token": 7}), &mut stored).unwrap();
        let differs = compare(&json!({"token": "$first"}), &json!({"token": 8}), &mut stored).unwrap_err();
        assert_eq!(differs.to_string(), "token: expected $first, which is 7, got 8");
        compare(&json!({"above": "$first"}), &json!(8), &mut stored).unwrap();
        assert!(compare(&json!({"above": "$first"}), &json!(7), &mut stored).is_err());
        assert!(compare(&json!({"not": "$first"}), &json!(7), &mut stored).is_err());
        assert!(compare(&json!({"above": "$never"}), &json!(7), &mut stored).is_err(), "an unknown name");
    }

    #[test]
    fn mismatch_stores_nothing() {
        let mut stored = Stored::new();
        let expected = json!({"a": "$a", "b": 1});
        assert!(compare(&expected, &json!({"a": 1, "b": 2}), &mut stored).is_err());
        assert!(compare(&json!("$a"), &json!(null), &mut stored).is_err());
        assert!(stored.is_empty());
    }

    #[test]
    fn names_in_requests_resolve_to_stored_values() {
        let stored = Stored::from([("all".to_owned(), json!(["x", "y"])), ("one".to_owned(), json!(1))]);
        let resolved =
            resolve(&json!({"to": ["$all", "z"], "token": "$one", "all": "$all", "other": "$other"}), &stored);
        assert_eq!(resolved, json!({"to": ["x", "y", "z"], "token": 1, "all": ["x", "y"], "other": "$other"}));
    }
}
