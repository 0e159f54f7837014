//! Parses and evaluates the policy file, which grants rights and sets limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::Identity;
use super::limits::Limit;
use super::rights::{Rights, Rule};

/// Grants and limits. Roles add up; an operation that none of them allows is denied.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Policy {
    grants: Vec<(Whom, Vec<Arc<Rule>>)>,
    limits: Vec<(Whom, Arc<Limit>)>,
}

/// The identities that an entry applies to.
#[derive(Debug, PartialEq, Eq)]
enum Whom {
    /// One identity.
    One(String),
    /// Every identity with this prefix.
    All(String),
}

impl Whom {
    fn parse(text: &str) -> Result<Self, String> {
        if text != "*" && !["cert:", "token:", "jwt:"].iter().any(|kind| text.starts_with(kind)) {
            return Err("identity must begin with cert:, token: or jwt:, or be * for all".to_owned());
        }
        match text.strip_suffix('*') {
            None => Ok(Self::One(text.to_owned())),
            Some(start) if start.is_empty() || start.ends_with(['/', ':']) => Ok(Self::All(start.to_owned())),
            Some(_) => Err("* must be at the end, after / or :".to_owned()),
        }
    }

    fn is(&self, identity: &str) -> bool {
        match self {
            Self::One(one) => one == identity,
            Self::All(start) => identity.starts_with(start),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    roles: BTreeMap<String, Vec<Rule>>,
    #[serde(default)]
    grants: Vec<Grant>,
    #[serde(default)]
    limits: Vec<Limit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    identity: String,
    roles: Vec<String>,
}

impl Policy {
    /// Parses TOML with `[[roles.NAME]]` (`verbs`, optionally `names` and `namespaces`), `[[grants]]` (`identity`,
    /// `roles`) and optionally `[[limits]]` (`identity`, optionally `namespaces`, and the limits).
    ///
    /// # Errors
    /// If the text is not a valid policy: the location and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let File { roles, grants, limits } =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        for (name, rules) in &roles {
            rules.iter().try_for_each(check).map_err(|problem| format!("roles.{name}: {problem}"))?;
        }
        let roles: BTreeMap<String, Vec<Arc<Rule>>> =
            roles.into_iter().map(|(name, rules)| (name, rules.into_iter().map(Arc::new).collect())).collect();
        let grants = grants.into_iter().map(|grant| {
            let at = |problem: String| format!("the grant to \"{}\": {problem}", grant.identity);
            let whom = Whom::parse(&grant.identity).map_err(at)?;
            let mut rules = Vec::new();
            for name in grant.roles.iter().collect::<BTreeSet<_>>() {
                let unknown = || at(format!("unknown role \"{name}\""));
                rules.extend(roles.get(name).ok_or_else(unknown)?.iter().cloned());
            }
            Ok((whom, rules))
        });
        let limits = limits.into_iter().map(|limit| {
            let identity = limit.identity.clone();
            let at = |problem: String| format!("the limits of \"{identity}\": {problem}");
            let whom = Whom::parse(&identity).map_err(at)?;
            check_namespaces(limit.namespaces.as_ref()).map_err(at)?;
            Ok((whom, Arc::new(limit.checked().map_err(at)?)))
        });
        Ok(Self { grants: grants.collect::<Result<_, String>>()?, limits: limits.collect::<Result<_, String>>()? })
    }

    /// The rights of an identity.
    #[must_use]
    pub fn rights(&self, identity: &Identity) -> Rights {
        let granted = self.grants.iter().filter(|(whom, _)| whom.is(identity.as_str()));
        Rights(Some(granted.flat_map(|(_, rules)| rules.iter().cloned()).collect()))
    }

    /// The limits of an identity; all of them apply.
    pub(super) fn limits(&self, identity: &Identity) -> Arc<[Arc<Limit>]> {
        self.limits.iter().filter(|(whom, _)| whom.is(identity.as_str())).map(|(_, limit)| limit.clone()).collect()
    }

    /// Drops the state of idle identities.
    pub(super) fn forget(&self) {
        self.limits.iter().for_each(|(_, limit)| limit.forget());
    }
}

fn check(rule: &Rule) -> Result<(), String> {
    if rule.verbs.is_empty() {
        return Err("verbs: at least one of acquire, read, watch, operate".to_owned());
    }
    check_some("names", rule.names.as_ref())?;
    for name in rule.names.iter().flatten() {
        if name.is_empty() || name.ends_with(['/', '*']) {
            return Err(format!("names: \"{name}\" must not end with / or *: a name includes all names below it"));
        }
    }
    check_namespaces(rule.namespaces.as_ref())
}

fn check_some(field: &str, given: Option<&Vec<String>>) -> Result<(), String> {
    if given.is_some_and(Vec::is_empty) {
        return Err(format!("{field}: at least one; omit {field} to include all"));
    }
    Ok(())
}

fn check_namespaces(namespaces: Option<&Vec<String>>) -> Result<(), String> {
    check_some("namespaces", namespaces)?;
    let allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    match namespaces.into_iter().flatten().find(|namespace| namespace.is_empty() || !namespace.chars().all(allowed)) {
        Some(namespace) => Err(format!("namespaces: \"{namespace}\" is invalid: use a-z, 0-9 and '-'")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rights::Verb;
    use super::*;

    const POLICY: &str = r#"
        [[roles.billing]]
        verbs = ["acquire", "read"]
        names = ["billing"]

        [[roles.billing]]
        verbs = ["watch"]

        [[roles.operator]]
        verbs = ["operate"]
        namespaces = ["default"]

        [[grants]]
        identity = "token:billing"
        roles = ["billing"]

        [[grants]]
        identity = "cert:spiffe://prod/ops/*"
        roles = ["operator", "billing"]

        [[grants]]
        identity = "token:billing"
        roles = ["operator"]
    "#;

    fn rights(identity: Identity) -> Rights {
        Policy::parse(POLICY).expect("readable").rights(&identity)
    }

    #[test]
    fn roles_add_up() {
        let rights = rights(Identity::of_token("billing"));
        assert!(rights.allow(Verb::Acquire, "x", "billing/job") && rights.allow(Verb::Operate, "default", "any"));
        assert!(!rights.allow(Verb::Acquire, "x", "other") && !rights.allow(Verb::Operate, "x", "billing"));
        assert!(rights.allow_every(Verb::Watch, "x"));
    }

    #[test]
    fn star_matches_identities_that_begin_with_the_prefix() {
        let policy = Policy::parse(POLICY).expect("readable");
        let of = |identity: &str| policy.rights(&Identity::of_subject(identity));
        assert!(of("spiffe://prod/ops/ann").are_none(), "of another kind");
        let whom = Whom::parse("cert:spiffe://prod/ops/*").expect("whole parts");
        assert!(whom.is("cert:spiffe://prod/ops/ann") && whom.is("cert:spiffe://prod/ops/"));
        assert!(!whom.is("cert:spiffe://prod/ops") && !whom.is("cert:spiffe://prod/opsx/ann"));
        assert!(Whom::parse("*").expect("all").is("jwt:anybody"));
    }

    #[test]
    fn limits_are_those_of_all_matching_identities() {
        let limits = "[[limits]]\nidentity = \"*\"\nclaims = 1\n[[limits]]\nidentity = \"token:ann\"\nclaims = 2\n";
        let policy = Policy::parse(limits).expect("readable");
        assert_eq!(policy.limits(&Identity::of_token("ann")).len(), 2);
        assert_eq!(policy.limits(&Identity::of_subject("ann")).len(), 1);
        assert_eq!(policy, Policy::parse(limits).expect("readable"), "unchanged");
        assert_ne!(policy, Policy::parse(&limits.replace('2', "3")).expect("readable"), "changed");
    }

    #[test]
    fn identity_without_grants_has_no_rights() {
        assert!(rights(Identity::of_token("stranger")).are_none());
        assert!(rights(Identity::of_subject("billing")).are_none(), "of another kind");
    }

    #[test]
    fn invalid_policy_is_rejected_with_the_place_of_the_error() {
        let cases = [
            ("[[roles.a]]\nverbs = [\"aquire\"]", "unknown variant `aquire`"),
            ("[[roles.a]]\nverbs = []", "roles.a: verbs: at least one"),
            ("[[roles.a]]\nnames = [\"x\"]", "missing field `verbs`"),
            ("[[roles.a]]\nverbs = [\"read\"]\nnames = []", "roles.a: names: at least one"),
            ("[[roles.a]]\nverbs = [\"read\"]\nnames = [\"x/\"]", "roles.a: names: \"x/\""),
            ("[[roles.a]]\nverbs = [\"read\"]\nnames = [\"x*\"]", "roles.a: names: \"x*\""),
            ("[[roles.a]]\nverbs = [\"read\"]\nnamespaces = [\"X\"]", "roles.a: namespaces: \"X\""),
            ("[[roles.a]]\nverbs = [\"read\"]\nname = \"x\"", "unknown field `name`"),
            ("[[grants]]\nidentity = \"token:a\"\nroles = [\"b\"]", "the grant to \"token:a\": unknown role \"b\""),
            ("[[grants]]\nidentity = \"ann\"\nroles = []", "the grant to \"ann\": identity must begin with"),
            ("[[grants]]\nidentity = \"token:a*\"\nroles = []", "* must be at the end"),
            ("[[limits]]\nidentity = \"*\"", "the limits of \"*\": at least one of sessions, claims,"),
            ("[[limits]]\nidentity = \"ann\"\nclaims = 1", "the limits of \"ann\": identity must begin with"),
            ("[[limits]]\nidentity = \"*\"\nclaims = -1", "invalid value"),
            ("[[limits]]\nidentity = \"*\"\nclaim = 1", "unknown field `claim`"),
            ("[[limits]]\nidentity = \"*\"\nrequests_per_second = 0", "nonzero"),
            (
                "[[limits]]\nidentity = \"*\"\nclaims = 1\nnamespaces = [\"X\"]",
                "the limits of \"*\": namespaces: \"X\"",
            ),
            ("grant = 1", "unknown field `grant`"),
        ];
        for (text, part) in cases {
            let problem = Policy::parse(text).expect_err(text);
            assert!(problem.contains(part), "{problem}");
        }
    }
}
