//! Checks of clocks: the clock source of this machine, and the differences between the servers' wall clocks.

use super::report::Check;

/// Where Linux names its clock source.
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// The difference between wall clocks from which it is noticeable in history, in seconds.
const NOTICEABLE: f64 = 1.0;

/// The clock source of this machine: holds are measured on its monotonic clock.
pub fn local() -> Check {
    let up = crate::output::human(crate::child::since_boot());
    let source = std::fs::read_to_string(SOURCE).unwrap_or_default();
    match source.trim() {
        "" => Check::note("clock", format!("source not reported; up for {up}")),
        slow @ ("hpet" | "acpi_pm" | "jiffies") => {
            Check::note("clock", format!("{slow}: slow to read; time-critical machines use tsc. Up for {up}"))
        }
        source => Check::ok("clock", format!("{source}, up for {up}")),
    }
}

/// The largest difference between the servers' wall clocks. No decision depends on them.
pub fn between(ahead: &[f64]) -> Check {
    let least = ahead.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ahead.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let apart = most - least;
    let found = format!("the servers' wall clocks are {} apart (used for timestamps in history only)", show(apart));
    if apart > NOTICEABLE { Check::note("wall clocks", found) } else { Check::ok("wall clocks", found) }
}

/// A server's wall clock against this machine's.
pub fn against_ours(ahead: f64) -> Check {
    let direction = if ahead < 0.0 { "behind" } else { "ahead of" };
    let found = format!("{} {direction} this machine's (for information only)", show(ahead.abs()));
    if ahead.abs() > NOTICEABLE { Check::note("wall clock", found) } else { Check::ok("wall clock", found) }
}

fn show(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.1} s") } else { format!("{:.0} ms", seconds * 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_and_never_fail() {
        assert_eq!(against_ours(-0.25), Check::ok("wall clock", "250 ms behind this machine's (for information only)"));
        assert_eq!(
            against_ours(90.0),
            Check::note("wall clock", "90.0 s ahead of this machine's (for information only)")
        );
        assert!(matches!(between(&[0.0, 3.0]), check if check != between(&[0.0, 0.1])));
    }

    #[test]
    fn this_machine_has_a_clock() {
        let found = format!("{:?}", local());
        assert!(found.contains("for "), "{found}");
    }
}
