//! Limits on what each identity may hold and request in a namespace.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use serde::Deserialize;
use tenure_core::{Limits, Text};

/// The request limit, as named in rejections and metrics.
pub(crate) const REQUESTS: &str = "requests per second of this identity at this server";

/// The limit on bytes added to history, as named in rejections and metrics.
pub(crate) const HISTORY_BYTES: &str = "history bytes per second of this identity in the namespace at this server";

/// An identity and a namespace.
type LimitKey = (Text, Text);

/// A limit from the policy. It applies to each matching identity and each namespace separately.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    /// The identity or prefix that the limit applies to.
    pub(super) identity: String,
    /// The namespaces. `None`: every namespace.
    pub(super) namespaces: Option<Vec<String>>,
    sessions: Option<u32>,
    claims: Option<u32>,
    waiters: Option<u32>,
    memberships: Option<u32>,
    watches: Option<u32>,
    requests_per_second: Option<NonZeroU32>,
    history_bytes_per_second: Option<NonZeroU32>,
    #[serde(skip)]
    rate: Rate<Text>,
    #[serde(skip)]
    history: Rate<LimitKey>,
}

/// A rate limiter by key. It is not part of a policy's value: all rates compare equal.
struct Rate<K: Clone + Hash + Eq>(Option<RateLimiter<K, HashMapStateStore<K>, DefaultClock>>);

impl<K: Clone + Hash + Eq> Rate<K> {
    fn per_second(bound: Option<NonZeroU32>) -> Self {
        Self(bound.map(|bound| RateLimiter::hashmap(Quota::per_second(bound))))
    }

    /// Takes `much` units of the quota, or the whole quota if that is less.
    ///
    /// # Errors
    /// If less is left.
    fn take(&self, key: &K, much: u32, bound: Option<NonZeroU32>, limit: &'static str) -> Result<(), RateLimited> {
        let (Some(rate), Some(bound), Some(much)) = (&self.0, bound, NonZeroU32::new(much)) else { return Ok(()) };
        match rate.check_key_n(key, much.min(bound)) {
            Ok(Err(not_yet)) => Err(RateLimited { limit, bound, wait: not_yet.wait_time_from(rate.clock().now()) }),
            // At most the whole quota is taken at once.
            Ok(Ok(())) | Err(_) => Ok(()),
        }
    }

    /// Drops the state of idle keys.
    fn forget(&self) {
        if let Some(rate) = &self.0 {
            rate.retain_recent();
            rate.shrink_to_fit();
        }
    }
}

impl<K: Clone + Hash + Eq> Default for Rate<K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: Clone + Hash + Eq> fmt::Debug for Rate<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rate")
    }
}

impl<K: Clone + Hash + Eq> PartialEq for Rate<K> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<K: Clone + Hash + Eq> Eq for Rate<K> {}

impl Limit {
    /// Validates the limit and starts its rate limiters.
    ///
    /// # Errors
    /// If it limits nothing.
    pub(super) fn checked(mut self) -> Result<Self, String> {
        let limits = [self.sessions, self.claims, self.waiters, self.memberships, self.watches];
        let rates = [self.requests_per_second, self.history_bytes_per_second];
        if limits.iter().all(Option::is_none) && rates.iter().all(Option::is_none) {
            return Err("at least one of sessions, claims, waiters, memberships, watches, requests_per_second, \
                history_bytes_per_second"
                .to_owned());
        }
        self.rate = Rate::per_second(self.requests_per_second);
        self.history = Rate::per_second(self.history_bytes_per_second);
        Ok(self)
    }

    fn is_for(&self, namespace: &str) -> bool {
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.iter().any(|known| known == namespace))
    }

    /// Drops the state of idle identities.
    pub(super) fn forget(&self) {
        self.rate.forget();
        self.history.forget();
    }
}

/// The number of watches of each identity at this server.
#[derive(Debug, Default)]
pub(super) struct Watches(Mutex<HashMap<LimitKey, u32>>);

impl Watches {
    fn lock(&self) -> MutexGuard<'_, HashMap<LimitKey, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counted watch; dropping it ends the count.
#[derive(Debug)]
pub(crate) struct Watching(Arc<Watches>, LimitKey);

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watches = self.0.lock();
        if let Some(count) = watches.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                watches.remove(&self.1);
            }
        }
    }
}

/// The limits of one identity.
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    pub(super) identity: Text,
    /// All of them apply: the lowest of each kind.
    pub(super) limits: Arc<[Arc<Limit>]>,
    pub(super) watches: Arc<Watches>,
}

/// A rate limit is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimited {
    /// The name of the limit.
    pub(crate) limit: &'static str,
    /// The limit per second.
    pub(crate) bound: NonZeroU32,
    /// The time until the request would be accepted.
    pub(crate) wait: Duration,
}

impl Allowance {
    /// The identity's limits in a namespace, across all servers.
    pub(crate) fn limits(&self, namespace: &str) -> Limits {
        Limits {
            sessions: self.lowest(namespace, |limit| limit.sessions),
            claims: self.lowest(namespace, |limit| limit.claims),
            waiters: self.lowest(namespace, |limit| limit.waiters),
            memberships: self.lowest(namespace, |limit| limit.memberships),
        }
    }

    /// Counts a request at this server that adds about `history_bytes` to history.
    ///
    /// # Errors
    /// If the request rate or the history rate is exceeded.
    pub(crate) fn ask(&self, namespace: &str, history_bytes: usize) -> Result<(), RateLimited> {
        let bytes = u32::try_from(history_bytes).unwrap_or(u32::MAX);
        let key = (self.identity.clone(), namespace.into());
        for limit in self.here(namespace) {
            limit.rate.take(&self.identity, 1, limit.requests_per_second, REQUESTS)?;
            limit.history.take(&key, bytes, limit.history_bytes_per_second, HISTORY_BYTES)?;
        }
        Ok(())
    }

    /// Counts a watch at this server until the returned value is dropped.
    ///
    /// # Errors
    /// The limit, if it is reached.
    pub(crate) fn watch(&self, namespace: &str) -> Result<Option<Watching>, usize> {
        let Some(bound) = self.lowest(namespace, |limit| limit.watches) else { return Ok(None) };
        let key = (self.identity.clone(), namespace.into());
        let mut watches = self.watches.lock();
        let count = watches.get(&key).copied().unwrap_or_default();
        if count >= bound {
            return Err(usize::try_from(bound).unwrap_or(usize::MAX));
        }
        watches.insert(key.clone(), count + 1);
        Ok(Some(Watching(self.watches.clone(), key)))
    }

    fn here(&self, namespace: &str) -> impl Iterator<Item = &Limit> {
        self.limits.iter().map(|limit| &**limit).filter(move |limit| limit.is_for(namespace))
    }

    fn lowest(&self, namespace: &str, of: impl Fn(&Limit) -> Option<u32>) -> Option<u32> {
        self.here(namespace).filter_map(of).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(limits: &[&str]) -> Allowance {
        let parse = |text: &&str| {
            let limit: Limit = toml::from_str(&format!("identity = \"*\"\n{text}")).expect("in form");
            Arc::new(limit.checked().expect("in order"))
        };
        let limits = limits.iter().map(parse).collect();
        Allowance { identity: "token:ann".into(), limits, watches: Arc::default() }
    }

    #[test]
    fn lowest_limit_for_the_namespace_applies() {
        let allowance = allowance(&[
            "sessions = 9\nclaims = 5",
            "sessions = 3\nnamespaces = [\"blue\"]",
            "waiters = 0\nnamespaces = [\"blue\", \"green\"]",
        ]);
        let limits =
            |sessions, waiters| Limits { sessions: Some(sessions), claims: Some(5), waiters, memberships: None };
        assert_eq!(allowance.limits("blue"), limits(3, Some(0)));
        assert_eq!(allowance.limits("green"), limits(9, Some(0)));
        assert_eq!(allowance.limits("default"), limits(9, None));
    }

    #[test]
    fn watches_are_counted_while_they_are_open() {
        let allowance = allowance(&["watches = 2"]);
        let first = allowance.watch("blue").expect("below the limit");
        let second = allowance.watch("blue").expect("below the limit");
        assert_eq!(allowance.watch("blue").expect_err("two are open"), 2);
        let _other_namespace = allowance.watch("green").expect("below the limit");
        drop(first);
        let third = allowance.watch("blue").expect("below the limit");
        assert_eq!(allowance.watch("blue").expect_err("two are open"), 2);
        drop((second, third));
        assert_eq!(allowance.watches.lock().len(), 1, "the one of the other namespace");
    }

    #[test]
    fn rate_limited_request_gets_a_retry_delay() {
        // One per second: even a slow test finishes within the interval.
        let allowance = allowance(&["requests_per_second = 1"]);
        let mut refused = 0;
        for _ in 0..1_000 {
            if let Err(RateLimited { bound, wait, .. }) = allowance.ask("blue", 0) {
                assert_eq!(bound.get(), 1);
                assert!(wait <= Duration::from_secs(1), "{wait:?}");
                refused += 1;
            }
        }
        assert!(refused > 900, "{refused}");
        let accepted: Vec<_> = (0..100).filter(|count| allowance.ask(&format!("green-{count}"), 0).is_ok()).collect();
        assert!(accepted.len() < 10, "all namespaces together: {accepted:?}");
        let other = Allowance { identity: "token:bob".into(), ..allowance };
        assert_eq!(other.ask("blue", 0), Ok(()), "each identity by itself");
    }

    #[test]
    fn bytes_of_history_count_by_identity_and_namespace() {
        let allowance = allowance(&["history_bytes_per_second = 1000"]);
        assert_eq!(allowance.ask("blue", 5_000), Ok(()), "a larger one uses up the budget");
        let refused = allowance.ask("blue", 500).expect_err("nothing is left");
        assert_eq!((refused.limit, refused.bound.get()), (HISTORY_BYTES, 1_000));
        assert!(refused.wait <= Duration::from_millis(500), "{:?}", refused.wait);
        assert_eq!(allowance.ask("blue", 0), Ok(()), "a request that adds no history");
        assert_eq!(allowance.ask("green", 500), Ok(()), "another namespace");
        let other = Allowance { identity: "token:bob".into(), ..allowance };
        assert_eq!(other.ask("blue", 500), Ok(()), "another identity");
    }
}
