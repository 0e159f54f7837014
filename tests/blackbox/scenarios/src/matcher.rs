//! Comparison of answers with expectations.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Values stored by name, for later comparisons and requests.
pub type Kept = BTreeMap<String, Value>;

/// A difference between an answer and the expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path in the answer, such as `holder.token`.
    pub path: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: Value,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, expected, got } = self;
        let place = if path.is_empty() { "the answer" } else { path };
        write!(formatter, "{place}: expected {expected}, got {got}")
    }
}

/// The keys that make an object a condition instead of a value to compare with.
const CONDITIONS: [&str; 8] = ["above", "below", "one_of", "absent", "any", "length", "contains", "not"];

/// Compares an answer with the expectation. Values of new names are stored, if everything matches.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &Value, got: &Value, kept: &mut Kept) -> Result<(), Mismatch> {
    let mut found = kept.clone();
    at("", expected, got, &mut found)?;
    *kept = found;
    Ok(())
}

fn at(path: &str, expected: &Value, got: &Value, kept: &mut Kept) -> Result<(), Mismatch> {
    let differs = |expected: &str| Mismatch { path: path.to_owned(), expected: expected.to_owned(), got: got.clone() };
    match expected {
        Value::String(name) if name.starts_with('$') => match kept.get(&name[1..]) {
            Some(value) if equal(value, got) => Ok(()),
            Some(value) => Err(differs(&format!("{name}, which is {value}"))),
            None if got.is_null() => Err(differs(&format!("something to keep as {name}"))),
            None => {
                kept.insert(name[1..].to_owned(), got.clone());
                Ok(())
            }
        },
        Value::Object(conditions) if is_condition(conditions) => {
            conditions.iter().try_for_each(|(name, value)| condition(path, name, value, got, kept))
        }
        Value::Object(fields) => {
            let Value::Object(there) = got else { return Err(differs(&expected.to_string())) };
            for (name, value) in fields {
                at(&join(path, name), value, there.get(name).unwrap_or(&Value::Null), kept)?;
            }
            Ok(())
        }
        Value::Array(values) => match got {
            Value::Array(there) if there.len() == values.len() => {
                let mut pairs = values.iter().zip(there).enumerate();
                pairs.try_for_each(|(place, (value, there))| at(&join(path, &place.to_string()), value, there, kept))
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

fn condition(path: &str, name: &str, value: &Value, got: &Value, kept: &mut Kept) -> Result<(), Mismatch> {
    let wanted = resolve(value, kept);
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
            let is_so = at(path, value, got, &mut kept.clone()).is_ok();
            check(!is_so)
        }
        "length" => match length(got) {
            Some(length) => at(&join(path, "length"), value, &json!(length), kept),
            None => check(false),
        },
        "one_of" => {
            let choices = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let found = choices.iter().find_map(|choice| fits(path, choice, got, kept));
            check(found.is_some())?;
            *kept = found.unwrap_or_default();
            Ok(())
        }
        "contains" => {
            let there = got.as_array().map(Vec::as_slice).unwrap_or_default();
            for wanted in value.as_array().map(Vec::as_slice).unwrap_or_default() {
                let found = there.iter().find_map(|there| fits(path, wanted, there, kept));
                check(found.is_some())?;
                *kept = found.unwrap_or_default();
            }
            Ok(())
        }
        _ => check(false),
    }
}

/// The stored values after the comparison, if it matches.
fn fits(path: &str, expected: &Value, got: &Value, kept: &Kept) -> Option<Kept> {
    let mut found = kept.clone();
    at(path, expected, got, &mut found).is_ok().then_some(found)
}

/// Replaces names with their stored values. A list in place of a name in a list is spliced in.
#[must_use]
pub fn resolve(value: &Value, kept: &Kept) -> Value {
    match value {
        Value::String(name) if name.starts_with('$') => kept.get(&name[1..]).unwrap_or(value).clone(),
        Value::Array(values) => {
            let spread = values.iter().flat_map(|value| match resolve(value, kept) {
                Value::Array(inner) if value.is_string() => inner,
                one => vec![one],
            });
            Value::Array(spread.collect())
        }
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), resolve(value, kept))).collect())
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
        compare(&expected, &got, &mut Kept::new()).err().map(|mismatch| mismatch.path)
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
    fn only_the_named_fields_of_an_object_count() {
        fits(json!({"a": 1}), json!({"a": 1, "b": 2}));
        fits(json!({}), json!({"b": 2}));
        differs(json!({"a": 1}), json!({"a": 2}), "a");
        differs(json!({"a": {"b": [1, 2]}}), json!({"a": {"b": [1, 3]}}), "a.b.1");
        differs(json!({"a": 1}), json!({}), "a");
        differs(json!({"a": 1}), json!("a"), "");
    }

    #[test]
    fn lists_are_as_long_as_expected() {
        fits(json!([1, {"a": 2}]), json!([1, {"a": 2, "b": 3}]));
        differs(json!([1]), json!([1, 2]), "");
        differs(json!([1]), json!(1), "");
    }

    #[test]
    fn what_is_absent_is_null() {
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
    fn conditions_on_lists() {
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
    fn not_is_the_contrary() {
        fits(json!({"not": "a"}), json!("b"));
        differs(json!({"not": "a"}), json!("a"), "");
    }

    #[test]
    fn a_name_is_kept_on_first_use_and_compared_afterwards() {
        let mut kept = Kept::new();
        compare(&json!({"token": "$first"}), &json!({"token": 7}), &mut kept).unwrap();
        assert_eq!(kept["first"], json!(7));
        compare(&json!({"token": "$first"}), &json!({"token": 7}), &mut kept).unwrap();
        let differs = compare(&json!({"token": "$first"}), &json!({"token": 8}), &mut kept).unwrap_err();
        assert_eq!(differs.to_string(), "token: expected $first, which is 7, got 8");
        compare(&json!({"above": "$first"}), &json!(8), &mut kept).unwrap();
        assert!(compare(&json!({"above": "$first"}), &json!(7), &mut kept).is_err());
        assert!(compare(&json!({"not": "$first"}), &json!(7), &mut kept).is_err());
        assert!(compare(&json!({"above": "$never"}), &json!(7), &mut kept).is_err(), "a name that is not known");
    }

    #[test]
    fn nothing_is_kept_of_what_differs() {
        let mut kept = Kept::new();
        let expected = json!({"a": "$a", "b": 1});
        assert!(compare(&expected, &json!({"a": 1, "b": 2}), &mut kept).is_err());
        assert!(compare(&json!("$a"), &json!(null), &mut kept).is_err());
        assert!(kept.is_empty());
    }

    #[test]
    fn names_in_requests_stand_for_what_is_kept() {
        let kept = Kept::from([("all".to_owned(), json!(["x", "y"])), ("one".to_owned(), json!(1))]);
        let resolved = resolve(&json!({"to": ["$all", "z"], "token": "$one", "all": "$all", "other": "$other"}), &kept);
        assert_eq!(resolved, json!({"to": ["x", "y", "z"], "token": 1, "all": ["x", "y"], "other": "$other"}));
    }
}
