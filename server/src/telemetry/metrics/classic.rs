//! Converts OpenMetrics to the classic Prometheus text format. The samples are equal, but the metadata differs: a
//! counter is described by its full name, and the info type does not exist.

use std::fmt::Write;

pub(super) fn from_openmetrics(text: &str) -> String {
    let mut classic = String::with_capacity(text.len());
    let mut help = None;
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        let fields = (words.next(), words.next(), words.next(), words.next());
        // Writing to a string cannot fail.
        let _ = match fields {
            (Some("#"), Some("HELP"), Some(name), Some(said)) => {
                help = Some((name, said));
                Ok(())
            }
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    _ => ("", kind),
                };
                let said = help.take().filter(|(described, _)| *described == name).map_or("", |(_, said)| said);
                writeln!(classic, "# HELP {name}{suffix} {said}\n# TYPE {name}{suffix} {kind}")
            }
            (Some("#"), ..) => Ok(()),
            _ => writeln!(classic, "{line}"),
        };
    }
    classic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_infos_are_described_by_their_full_names() {
        let open = "# HELP a_b How many, # or so.\n# TYPE a_b counter\na_b_total{x=\"# TYPE\"} 1\n\
            # HELP c What.\n# TYPE c info\nc_info{v=\"1\"} 1\n\
            # HELP d_seconds For how long.\n# TYPE d_seconds gauge\n# UNIT d_seconds seconds\nd_seconds 2.5\n# EOF\n";
        let classic = "# HELP a_b_total How many, # or so.\n# TYPE a_b_total counter\na_b_total{x=\"# TYPE\"} 1\n\
            # HELP c_info What.\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n\
            # HELP d_seconds For how long.\n# TYPE d_seconds gauge\nd_seconds 2.5\n";
        assert_eq!(from_openmetrics(open), classic);
    }
}
