//! Parses and prints durations.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A duration with its unit: `500ms`, `10s`, `1h 30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match humantime::parse_duration(text) {
            Ok(duration) => Ok(Self(duration)),
            Err(_) => Err(format!("\"{text}\" must be a duration with a unit, such as \"500ms\", \"10s\" or \"24h\"")),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In the largest unit that gives a whole number; a day is 24h.
        const UNITS: [(u128, &str); 6] = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        const DAY: u128 = 86_400_000_000_000;
        let ns = self.0.as_nanos();
        match UNITS.iter().find(|(unit, _)| ns.is_multiple_of(*unit)) {
            _ if ns == 0 => formatter.write_str("0s"),
            _ if ns > DAY && ns.is_multiple_of(DAY) => write!(formatter, "{}d", ns / DAY),
            Some((unit, name)) => write!(formatter, "{}{name}", ns / unit),
            None => write!(formatter, "{ns}ns"),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)
            .map_err(|_| D::Error::custom("expected a duration with a unit, such as \"500ms\", \"10s\" or \"24h\""))?;
        text.parse().map_err(D::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
