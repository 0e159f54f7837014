//! Formats durations and moments for people.

use std::time::{Duration, SystemTime};

/// A duration as it was set or measured, to the microsecond: `1m30s`, `500ms`.
pub fn exact(duration: Duration) -> String {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_micros(micros)).to_string().replace(' ', "")
}

/// A duration with the precision that people need, in at most two units: `250ms`, `3.2s`, `3m12s`, `2h5m`, `4d3h`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    };
    match seconds {
        0 if duration.is_zero() => "0s".to_owned(),
        0 if duration.as_millis() == 0 => "<1ms".to_owned(),
        0 => format!("{}ms", duration.as_millis()),
        1..10 => match duration.subsec_millis() / 100 {
            0 => format!("{seconds}s"),
            tenths => format!("{seconds}.{tenths}s"),
        },
        10..60 => format!("{seconds}s"),
        60..3_600 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// A duration of the API, as it was set: to the millisecond.
pub fn duration(duration: Option<prost_types::Duration>) -> String {
    known(duration).map_or_else(
        || "-".to_owned(),
        |duration| exact(Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))),
    )
}

/// A duration of the API, with the precision that people need.
pub fn rough(duration: Option<prost_types::Duration>) -> String {
    known(duration).map_or_else(|| "-".to_owned(), human)
}

/// A duration of the API, if it is set.
pub fn known(duration: Option<prost_types::Duration>) -> Option<Duration> {
    duration.and_then(|duration| Duration::try_from(duration).ok())
}

/// A timestamp of the API, to the second, in UTC.
pub fn time(time: Option<prost_types::Timestamp>) -> String {
    let time = time.and_then(|time| SystemTime::try_from(time).ok());
    time.map_or_else(|| "-".to_owned(), timestamp)
}

/// The timestamp of an event as a line prefix, to the millisecond, in UTC; empty if it is not known.
pub fn event_time(time: Option<prost_types::Timestamp>) -> String {
    let time = time.and_then(|time| SystemTime::try_from(time).ok());
    time.map_or_else(String::new, |time| format!("{}  ", humantime::format_rfc3339_millis(time)))
}

/// A moment, to the second, in UTC.
pub fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let shown_as = |millis| human(Duration::from_millis(millis));
        let shown = [0, 250, 3_000, 3_250, 59_999, 60_000, 192_000, 3_600_000, 7_530_000, 86_400_000, 360_000_000];
        assert_eq!(
            shown.map(shown_as),
            ["0s", "250ms", "3s", "3.2s", "59s", "1m", "3m12s", "1h", "2h5m", "1d", "4d4h"].map(str::to_owned)
        );
        assert_eq!(human(Duration::from_micros(20)), "<1ms");
    }

    #[test]
    fn durations_are_shown_as_they_were_set() {
        assert_eq!(duration(Some(prost_types::Duration { seconds: 61, nanos: 500_000_001 })), "1m1s500ms");
        assert_eq!(duration(None), "-");
        assert_eq!(exact(Duration::from_micros(1_500)), "1ms500us");
    }
}
