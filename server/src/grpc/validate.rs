//! Validates every field that callers send. A field out of bounds is rejected with its name and the bound.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tenure_core::{
    AskedMode, Assignments, Eviction, LockSettings, Metadata, Names, Preempt, Revision, Text, no_labels,
};
use tenure_proto::v1;
use tonic::Status;

use super::status::invalid;

/// The namespace of requests without one.
const DEFAULT_NAMESPACE: &str = "default";
const NAMESPACE_BYTES: usize = 63;
pub(super) const NAME_BYTES: usize = 255;
pub(super) const NAMES: usize = 16;
pub(super) const SESSION_ID_BYTES: usize = 128;
const LABEL_BYTES: usize = 255;
pub(super) const METADATA_BYTES: usize = 4_096;
const PRIORITY: i32 = 1_000;
const PAGE: i32 = 1_000;
const DEFAULT_PAGE: usize = 100;
pub(super) const WATCHED: usize = 100;
pub(super) const CONFIG_BYTES: usize = 65_536;
pub(super) const ASSIGNMENT_BYTES: usize = 16_384;
pub(super) const ASSIGNMENTS_BYTES: usize = 1_048_576;
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const PERMITS: u32 = 1_000_000;
const SHORTEST_DRAIN: Duration = Duration::from_millis(100);
const LONGEST_DRAIN: Duration = Duration::from_secs(60 * 60);
const DEFAULT_DRAIN: Duration = Duration::from_secs(10);
const LONGEST_SETTLING: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_SETTLING: Duration = Duration::from_secs(10);
pub(crate) const LONGEST_MIN_HOLD: Duration = Duration::from_secs(24 * 60 * 60);
/// Less would end sessions of healthy clients: they ping three times in a grace, and must reconnect within it.
const SHORTEST_DISCONNECT_GRACE: Duration = Duration::from_millis(100);

/// The bounds of TTLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlBounds {
    /// The shortest TTL.
    pub min: Duration,
    /// The longest TTL.
    pub max: Duration,
}

/// A namespace; if empty, the default one.
pub fn namespace(value: &str) -> Result<&str, Status> {
    if value.is_empty() {
        return Ok(DEFAULT_NAMESPACE);
    }
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if value.len() <= NAMESPACE_BYTES && value.bytes().all(allowed) {
        Ok(value)
    } else {
        Err(invalid("namespace", format!("1 to {NAMESPACE_BYTES} of a-z, 0-9 and '-'")))
    }
}

/// An unvalidated name for an error message: at most `NAME_BYTES` characters, and no control characters.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(NAME_BYTES).collect()
}

fn text(field: impl Display, value: &str, min: usize, max: usize) -> Result<(), Status> {
    if value.len() < min || value.len() > max {
        return Err(invalid(field, format!("{min} to {max} bytes, not {}", value.len())));
    }
    match value.char_indices().find(|(_, letter)| letter.is_control()) {
        Some((at, letter)) => {
            let code = u32::from(letter);
            Err(invalid(field, format!("no control characters (U+{code:04X} at byte {at})")))
        }
        None => Ok(()),
    }
}

/// The name of a lock or a group.
pub fn name(field: impl Display, value: &str) -> Result<Text, Status> {
    text(field, value, 1, NAME_BYTES)?;
    Ok(value.into())
}

/// The names of one claim, sorted.
pub fn names(values: &[String]) -> Result<Names, Status> {
    if values.is_empty() || values.len() > NAMES {
        return Err(invalid("names", format!("1 to {NAMES} names, not {}", values.len())));
    }
    let mut names = values
        .iter()
        .enumerate()
        .map(|(at, value)| name(format_args!("names[{at}]"), value))
        .collect::<Result<Vec<_>, _>>()?;
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(invalid("names", format!("no name twice, as \"{}\" is", pair[0]))),
        None => Ok(names.into()),
    }
}

/// The id of a session.
pub fn session_id(field: impl Display, value: &str) -> Result<Text, Status> {
    text(field, value, 1, SESSION_ID_BYTES)?;
    Ok(value.into())
}

pub(crate) fn label(field: impl Display, value: &str) -> Result<Text, Status> {
    static NONE: LazyLock<Text> = LazyLock::new(|| "".into());
    text(field, value, 0, LABEL_BYTES)?;
    Ok(if value.is_empty() { NONE.clone() } else { value.into() })
}

/// The operator behind an action, and its note.
pub(crate) fn eviction(operator: &str, note: &str) -> Result<Eviction, Status> {
    text("operator", operator, 1, LABEL_BYTES)?;
    Ok(Eviction { operator: operator.into(), note: label("note", note)? })
}

pub(crate) fn metadata(values: BTreeMap<String, String>) -> Result<Metadata, Status> {
    if values.is_empty() {
        return Ok(no_labels());
    }
    let bytes: usize = values.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > METADATA_BYTES {
        let bound = format!("at most {METADATA_BYTES} bytes, keys and values together, not {bytes}");
        return Err(invalid("metadata", bound));
    }
    for (key, value) in &values {
        text("metadata", key, 1, METADATA_BYTES)?;
        let unprintable = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        if value.contains(unprintable) {
            return Err(invalid("metadata", "no control characters but line feed and tab in values"));
        }
    }
    Ok(Arc::new(values))
}

fn number<T: PartialOrd + Display>(field: &str, value: T, range: RangeInclusive<T>) -> Result<T, Status> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(invalid(field, format_args!("{} to {}, not {value}", range.start(), range.end())))
    }
}

/// A duration in a range, which `bound` describes.
fn duration(
    field: &str,
    value: prost_types::Duration,
    range: RangeInclusive<Duration>,
    bound: &str,
) -> Result<Duration, Status> {
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(value.seconds), u32::try_from(value.nanos)) else {
        return Err(invalid(field, format_args!("{bound}; it is negative")));
    };
    if nanos > 999_999_999 {
        return Err(invalid(field, format_args!("{bound}; its nanos are out of range")));
    }
    let value = Duration::new(seconds, nanos);
    if range.contains(&value) { Ok(value) } else { Err(invalid(field, format_args!("{bound}, not {value:?}"))) }
}

fn duration_in(field: &str, value: prost_types::Duration, range: RangeInclusive<Duration>) -> Result<Duration, Status> {
    let bound = format!("{:?} to {:?}", range.start(), range.end());
    duration(field, value, range, &bound).map(whole_ms)
}

/// Rounds up to whole ms, which is the stored unit, so that nothing lasts shorter than requested.
pub(crate) fn whole_ms(duration: Duration) -> Duration {
    let ms =
        duration.as_secs().saturating_mul(1_000).saturating_add(u64::from(duration.subsec_nanos().div_ceil(1_000_000)));
    Duration::from_millis(ms)
}

pub(crate) fn ttl(value: Option<prost_types::Duration>, bounds: TtlBounds) -> Result<Option<Duration>, Status> {
    value.map(|value| duration_in("ttl", value, bounds.min..=bounds.max)).transpose()
}

pub(crate) fn required_ttl(value: Option<prost_types::Duration>, bounds: TtlBounds) -> Result<Duration, Status> {
    let missing = || invalid("ttl", format_args!("required: {:?} to {:?}", bounds.min, bounds.max));
    ttl(value, bounds)?.ok_or_else(missing)
}

/// The disconnect grace that goes with a TTL.
pub(crate) fn disconnect_grace(
    value: Option<prost_types::Duration>,
    ttl: Duration,
) -> Result<Option<Duration>, Status> {
    let Some(value) = value else { return Ok(None) };
    let bound = format!("{SHORTEST_DISCONNECT_GRACE:?} to the ttl ({ttl:?})");
    duration("disconnect_grace", value, SHORTEST_DISCONNECT_GRACE..=ttl, &bound).map(whole_ms).map(Some)
}

/// How long an Acquire may wait. `None`: forever.
pub(crate) fn wait(value: Option<prost_types::Duration>) -> Result<Option<Duration>, Status> {
    let bound = "0 (try once) to 365 days, or unset (wait for ever)";
    value.map(|value| duration("wait", value, Duration::ZERO..=LONGEST_WAIT, bound)).transpose()
}

pub(crate) fn min_hold(value: Option<prost_types::Duration>) -> Result<Duration, Status> {
    let Some(value) = value else { return Ok(Duration::ZERO) };
    duration("min_hold", value, Duration::ZERO..=LONGEST_MIN_HOLD, "0 to 24 hours").map(whole_ms)
}

pub(crate) fn mode(mode: i32, permits: u32, limit: u32) -> Result<AskedMode, Status> {
    let known = v1::Mode::try_from(mode)
        .map_err(|_| invalid("mode", format!("MODE_EXCLUSIVE, MODE_SHARED or MODE_PERMITS, not {mode}")))?;
    if known != v1::Mode::Permits {
        return match (permits, limit) {
            (0, 0) if known == v1::Mode::Shared => Ok(AskedMode::Shared),
            (0, 0) => Ok(AskedMode::Exclusive),
            (0, _) => Err(invalid("limit", "only with MODE_PERMITS")),
            _ => Err(invalid("permits", "only with MODE_PERMITS")),
        };
    }
    number("limit", limit, 0..=PERMITS)?;
    let most = if limit == 0 { PERMITS } else { limit };
    let permits = number("permits", permits.max(1), 0..=most)?;
    Ok(AskedMode::Permits { permits, limit: (limit > 0).then_some(limit) })
}

pub(crate) fn drain(field: &str, value: Option<prost_types::Duration>) -> Result<Duration, Status> {
    value.map_or(Ok(DEFAULT_DRAIN), |value| duration_in(field, value, SHORTEST_DRAIN..=LONGEST_DRAIN))
}

pub(crate) fn settings(value: Option<v1::LockSettings>) -> Result<LockSettings, Status> {
    let value = value.unwrap_or_default();
    let limit = number("settings.limit", value.limit, 0..=PERMITS)?;
    let settling = |value| duration_in("settings.preempt.settling", value, Duration::ZERO..=LONGEST_SETTLING);
    let preempt = |preempt: v1::Preempt| -> Result<Preempt, Status> {
        Ok(Preempt {
            settling: preempt.settling.map_or(Ok(DEFAULT_SETTLING), settling)?,
            drain: drain("settings.preempt.drain", preempt.drain)?,
        })
    };
    Ok(LockSettings { limit: (limit > 0).then_some(limit), preempt: value.preempt.map(preempt).transpose()? })
}

pub(crate) fn priority(value: i32) -> Result<i32, Status> {
    number("priority", value, -PRIORITY..=PRIORITY)
}

pub(crate) fn token(value: u64) -> Result<Revision, Status> {
    revision("token", value, 1)
}

/// A revision, if given: not 0.
pub(crate) fn optional_revision(field: &str, value: u64) -> Result<Option<Revision>, Status> {
    if value == 0 { Ok(None) } else { revision(field, value, 0).map(Some) }
}

/// The id of a client.
pub(crate) fn client_id(field: &str, value: &str, min: usize) -> Result<Text, Status> {
    text(field, value, min, SESSION_ID_BYTES)?;
    Ok(value.into())
}

/// An epoch, or the number of something declared.
pub(crate) fn declared(field: &str, value: u64) -> Result<u64, Status> {
    number(field, value, 1..=i64::MAX.unsigned_abs())
}

pub(crate) fn page_size(value: i32) -> Result<usize, Status> {
    let size = usize::try_from(number("page_size", value, 0..=PAGE)?).unwrap_or_default();
    Ok(if size == 0 { DEFAULT_PAGE } else { size })
}

/// Validates a prefix of names.
pub fn prefix(value: &str) -> Result<(), Status> {
    text("prefix", value, 0, NAME_BYTES)
}

/// Validates the names, prefixes and groups of a watch.
pub(crate) fn watched(request: &v1::WatchRequest) -> Result<(), Status> {
    let v1::WatchRequest { names, prefixes, groups, .. } = request;
    for (field, values, min) in [("names", names, 1), ("prefixes", prefixes, 0), ("groups", groups, 1)] {
        if values.len() > WATCHED {
            return Err(invalid(field, format!("0 to {WATCHED} of them, not {}", values.len())));
        }
        for (at, value) in values.iter().enumerate() {
            text(format_args!("{field}[{at}]"), value, min, NAME_BYTES)?;
        }
    }
    Ok(())
}

/// A revision of the log, or 0.
pub(crate) fn revision(field: &str, value: u64, min: u64) -> Result<Revision, Status> {
    number(field, value, min..=Revision::MAX.0).map(Revision)
}

/// Validates a text that programs attach to a group; it may have several lines.
fn content(field: &str, value: &str, max: usize) -> Result<(), Status> {
    if value.len() > max {
        return Err(invalid(field, format!("0 to {max} bytes, not {}", value.len())));
    }
    let unprintable = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
    if value.contains(unprintable) {
        return Err(invalid(field, "no control characters but line feed, carriage return and tab"));
    }
    Ok(())
}

pub(crate) fn config(value: Option<String>) -> Result<Option<Text>, Status> {
    value.map(|value| content("config", &value, CONFIG_BYTES).map(|()| value.into())).transpose()
}

/// Validates the assignments to the members of a group.
pub(crate) fn assignments(values: BTreeMap<u64, String>) -> Result<Assignments, Status> {
    let bytes: usize = values.values().map(String::len).sum();
    if bytes > ASSIGNMENTS_BYTES {
        let bound = format!("together at most {ASSIGNMENTS_BYTES} bytes, not {bytes}");
        return Err(invalid("assignments", bound));
    }
    let mut assignments = BTreeMap::new();
    for (member, assignment) in values {
        content(&format!("assignments[{member}]"), &assignment, ASSIGNMENT_BYTES)?;
        assignments.insert(Revision(member), assignment.into());
    }
    Ok(Arc::new(assignments))
}
