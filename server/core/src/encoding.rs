//! The parts of the encoding of events that serde does not derive. The views for plain SQL queries read fields by their
//! encoded names.
//!
//! Durations are encoded in whole milliseconds, rounded up: a session or a minimum hold may get longer by that, never
//! shorter. Zero and empty values are left out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A duration in whole milliseconds in a few bytes, for what there may be a million of: at most 49 days, which a longer
/// one becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "u64")]
pub struct Millis(u32);

impl Millis {
    /// Whether it is none at all.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<u64> for Millis {
    fn from(millis: u64) -> Self {
        Self(u32::try_from(millis).unwrap_or(u32::MAX))
    }
}

impl From<Millis> for u64 {
    fn from(millis: Millis) -> Self {
        millis.0.into()
    }
}

impl From<Duration> for Millis {
    /// Rounded up.
    fn from(duration: Duration) -> Self {
        whole_millis(duration).into()
    }
}

impl From<Millis> for Duration {
    fn from(millis: Millis) -> Self {
        Self::from_millis(millis.into())
    }
}

/// A duration in whole milliseconds, rounded up.
#[must_use]
pub fn whole_millis(duration: Duration) -> u64 {
    let whole = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(whole).unwrap_or(u64::MAX).min(i64::MAX as u64)
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::whole_millis;

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(whole_millis(*duration))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

pub(crate) mod optional_millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::whole_millis;

    pub(crate) fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        duration.map(whole_millis).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

/// A map as a list of pairs: serde buffers the fields of a variant, and from there does not read numbers as keys.
pub(crate) mod pairs {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &Arc<BTreeMap<K, V>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&**map)
    }

    pub(crate) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<Arc<BTreeMap<K, V>>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Arc::new(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect()))
    }
}

/// A single name as a list, like those of claims.
pub(crate) mod one {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::names::Text;

    pub(crate) fn serialize<S: Serializer>(name: &Text, serializer: S) -> Result<S::Ok, S::Error> {
        [name].serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        <[Text; 1]>::deserialize(deserializer).map(|[name]| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_never_get_shorter() {
        assert_eq!(whole_millis(Duration::from_nanos(1_000_001)), 2);
        assert_eq!(whole_millis(Duration::from_millis(1200)), 1200);
        assert_eq!(whole_millis(Duration::ZERO), 0);
        assert_eq!(whole_millis(Duration::MAX), i64::MAX as u64);
        assert_eq!(Duration::from(Millis::from(Duration::from_nanos(1_000_001))), Duration::from_millis(2));
    }

    #[test]
    fn longer_durations_than_49_days_become_that() {
        assert_eq!(u64::from(Millis::from(1 << 32)), (1 << 32) - 1);
        assert_eq!(Millis::from(Duration::MAX), Millis::from(1 << 32));
    }
}
