//! Rights: which operations an identity may perform, on which names, in which namespaces.

use std::fmt;
use std::sync::Arc;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Acquire, hold and release locks; be a member of groups, and assign as their leader.
    Acquire,
    /// Read the current and past state of locks, groups and sessions.
    Read,
    /// Watch the events of locks and groups.
    Watch,
    /// End or hand over the claims of others, and configure locks and groups.
    Operate,
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Acquire => "acquire",
            Self::Read => "read",
            Self::Watch => "watch",
            Self::Operate => "operate",
        })
    }
}

/// Allows these verbs on these names in these namespaces.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) verbs: Vec<Verb>,
    /// Each covers itself and everything below it: `a` covers `a` and `a/b`, not `ab`. `None`: every name.
    pub(super) names: Option<Vec<String>>,
    /// `None`: every namespace.
    pub(super) namespaces: Option<Vec<String>>,
}

impl Rule {
    fn is_for(&self, verb: Verb, namespace: &str) -> bool {
        let here = |namespaces: &Vec<String>| namespaces.iter().any(|known| known == namespace);
        self.verbs.contains(&verb) && self.namespaces.as_ref().is_none_or(here)
    }

    fn has_name(&self, name: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let covers = |top: &String| name.strip_prefix(top.as_str()).is_some_and(is_below);
        self.names.as_ref().is_none_or(|names| names.iter().any(covers))
    }

    /// Whether every name with this prefix is allowed.
    fn has_prefix(&self, prefix: &str) -> bool {
        let covers = |top: &String| prefix.strip_prefix(top.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.names.as_ref().is_none_or(|names| names.iter().any(covers))
    }
}

/// The rights of a caller.
#[derive(Clone, Debug, Default)]
pub struct Rights(
    /// `None`: everything is allowed. Otherwise the union of these rules.
    pub(super) Option<Arc<[Arc<Rule>]>>,
);

impl Rights {
    /// Whether everything is allowed.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether nothing is allowed.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.0.as_ref().is_some_and(|rules| rules.is_empty())
    }

    /// Whether the verb is allowed on a name.
    #[must_use]
    pub fn allow(&self, verb: Verb, namespace: &str, name: &str) -> bool {
        self.any(verb, namespace, |rule| rule.has_name(name))
    }

    /// Whether the verb is allowed on every name with this prefix. Without a trailing `/`, the prefix `a` also covers
    /// `ab`.
    #[must_use]
    pub fn allow_prefix(&self, verb: Verb, namespace: &str, prefix: &str) -> bool {
        self.any(verb, namespace, |rule| rule.has_prefix(prefix))
    }

    /// Whether the verb is allowed on at least one name in the namespace.
    #[must_use]
    pub fn allow_some(&self, verb: Verb, namespace: &str) -> bool {
        self.any(verb, namespace, |_| true)
    }

    /// Whether the verb is allowed on every name in the namespace.
    #[must_use]
    pub fn allow_every(&self, verb: Verb, namespace: &str) -> bool {
        self.any(verb, namespace, |rule| rule.names.is_none())
    }

    /// The names on which the verb is allowed, each with everything below it. `None`: all names.
    #[must_use]
    pub fn names(&self, verb: Verb, namespace: &str) -> Option<Vec<String>> {
        if self.allow_every(verb, namespace) {
            return None;
        }
        let rules = self.0.iter().flat_map(|rules| rules.iter()).filter(|rule| rule.is_for(verb, namespace));
        Some(rules.flat_map(|rule| rule.names.iter().flatten().cloned()).collect())
    }

    fn any(&self, verb: Verb, namespace: &str, suits: impl Fn(&Rule) -> bool) -> bool {
        let Some(rules) = &self.0 else { return true };
        rules.iter().any(|rule| rule.is_for(verb, namespace) && suits(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(verbs: &[Verb], names: Option<&[&str]>, namespaces: Option<&[&str]>) -> Rights {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let rule = Rule { verbs: verbs.to_vec(), names: names.map(owned), namespaces: namespaces.map(owned) };
        Rights(Some([Arc::new(rule)].into()))
    }

    #[test]
    fn right_on_a_name_covers_all_names_below_it() {
        let rights = rights(&[Verb::Read], Some(&["team-a", "b/c"]), None);
        let may = |name| rights.allow(Verb::Read, "default", name);
        for name in ["team-a", "team-a/", "team-a/x", "team-a/x/y", "b/c", "b/c/d"] {
            assert!(may(name), "{name}");
        }
        for name in ["team-ab", "team-", "team", "b", "b/", "b/cd", "", "/team-a", "x/team-a", "TEAM-A"] {
            assert!(!may(name), "{name}");
        }
    }

    #[test]
    fn prefix_is_covered_only_if_all_its_names_are() {
        let rights = rights(&[Verb::Watch], Some(&["team-a"]), None);
        let may = |prefix| rights.allow_prefix(Verb::Watch, "default", prefix);
        assert!(may("team-a/") && may("team-a/x") && may("team-a/x/"));
        assert!(!may("team-a") && !may("team-") && !may("") && !may("team-ab/"));
    }

    #[test]
    fn rule_covers_only_its_verbs_and_namespaces() {
        let rights = rights(&[Verb::Read, Verb::Watch], None, Some(&["blue"]));
        assert!(rights.allow_every(Verb::Read, "blue") && rights.allow(Verb::Watch, "blue", "x"));
        assert!(rights.allow_prefix(Verb::Watch, "blue", "") && rights.allow_some(Verb::Read, "blue"));
        assert!(!rights.allow(Verb::Acquire, "blue", "x") && !rights.allow(Verb::Operate, "blue", "x"));
        assert!(!rights.allow(Verb::Read, "blue2", "x") && !rights.allow_some(Verb::Read, "green"));
    }

    #[test]
    fn right_on_some_names_is_not_one_on_all_names() {
        let rights = rights(&[Verb::Read], Some(&["a"]), None);
        assert!(rights.allow_some(Verb::Read, "default") && !rights.allow_every(Verb::Read, "default"));
    }

    #[test]
    fn names_of_a_verb_are_those_of_its_rules() {
        let some = rights(&[Verb::Read], Some(&["a", "b"]), Some(&["blue"]));
        assert_eq!(some.names(Verb::Read, "blue"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((some.names(Verb::Read, "green"), some.names(Verb::Watch, "blue")), (Some(vec![]), Some(vec![])));
        assert_eq!(rights(&[Verb::Read], None, None).names(Verb::Read, "blue"), None);
        assert_eq!(Rights::default().names(Verb::Read, "blue"), None);
    }

    #[test]
    fn missing_policy_allows_everything_and_an_empty_one_nothing() {
        assert!(Rights::default().are_all() && Rights::default().allow_every(Verb::Operate, "x"));
        let none = Rights(Some([].into()));
        assert!(none.are_none() && !none.allow_some(Verb::Read, "default"));
    }
}
