//! Encoding and decoding of single values: modes, durations, end reasons, settings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::{EndReason, LockSettings, Metadata, Mode, Preempt, Text, no_labels};

use super::CodecError;

/// The word for a mode; `None` for the default mode, which is left out.
pub(super) fn mode_word(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Exclusive => None,
        mode => Some(mode_name(mode)),
    }
}

/// The word for a mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Permits { .. } => "permits",
    }
}

/// Decodes a mode from its word and, for permits, their number and limit.
pub(crate) fn mode(word: &str, permits: Option<u32>, limit: Option<u32>) -> Result<Mode, CodecError> {
    match word {
        "exclusive" => Ok(Mode::Exclusive),
        "shared" => Ok(Mode::Shared),
        "permits" => Ok(Mode::Permits { permits: need(permits, "permits")?, limit: need(limit, "permit_limit")? }),
        word => Err(CodecError::Unknown { what: "mode", word: word.to_owned() }),
    }
}

/// The permits and limit of a mode that has them.
pub(crate) fn counted(mode: Mode) -> Option<(u32, u32)> {
    match mode {
        Mode::Exclusive | Mode::Shared => None,
        Mode::Permits { permits, limit } => Some((permits, limit)),
    }
}

/// A duration in whole milliseconds, rounded up.
pub(crate) fn millis(duration: Duration) -> u64 {
    let whole = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(whole).unwrap_or(u64::MAX).min(i64::MAX as u64)
}

pub(super) fn need<T>(value: Option<T>, field: &'static str) -> Result<T, CodecError> {
    value.ok_or(CodecError::Missing(field))
}

pub(super) fn text(value: Option<Cow<'_, str>>, field: &'static str) -> Result<Text, CodecError> {
    Ok(Text::from(&*need(value, field)?))
}

pub(super) fn reason(word: Option<Cow<'_, str>>) -> Result<EndReason, CodecError> {
    let word = need(word, "reason")?;
    EndReason::ALL
        .into_iter()
        .find(|reason| reason.as_str() == word)
        .ok_or_else(|| CodecError::Unknown { what: "end reason", word: word.into_owned() })
}

pub(super) fn texts(names: &[Cow<'_, str>]) -> Vec<Text> {
    names.iter().map(|name| Text::from(&**name)).collect()
}

/// Decodes labels. Empty labels are shared.
pub(super) fn labels(labels: Cow<'_, BTreeMap<String, String>>) -> Metadata {
    if labels.is_empty() { no_labels() } else { Metadata::new(labels.into_owned()) }
}

/// Decodes the settings of a lock.
pub(crate) fn settings(
    limit: Option<u32>,
    settling_ms: Option<u64>,
    drain_ms: Option<u64>,
) -> Result<LockSettings, CodecError> {
    let preempt = match settling_ms {
        None => None,
        Some(settling) => Some(Preempt {
            settling: Duration::from_millis(settling),
            drain: Duration::from_millis(need(drain_ms, "drain_ms")?),
        }),
    };
    Ok(LockSettings { limit, preempt })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_never_get_shorter() {
        assert_eq!(millis(Duration::from_nanos(1_000_001)), 2);
        assert_eq!(millis(Duration::from_millis(1200)), 1200);
        assert_eq!(millis(Duration::ZERO), 0);
        assert_eq!(millis(Duration::MAX), i64::MAX as u64);
    }
}
