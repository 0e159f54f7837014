//! The findings of `doctor`, as text and as JSON.

use serde_json::{Value, json};

use super::clocks;
use crate::output::{Style, Tint, bold, escape};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    /// For information, or suboptimal.
    Note,
    Failed,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    name: &'static str,
    verdict: Verdict,
    found: String,
}

impl Check {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, found: found.into() }
    }

    pub fn note(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Note, found: found.into() }
    }

    pub fn failed(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Failed, found: found.into() }
    }
}

/// One server, its checks, and the facts that it reported or that were measured.
#[derive(Debug, Default)]
pub struct Endpoint {
    pub url: String,
    pub checks: Vec<Check>,
    /// Whether it could be connected to.
    pub reached: bool,
    /// Its version, if reported.
    pub version: Option<String>,
    /// By how many seconds its wall clock is ahead of this machine's.
    pub ahead: Option<f64>,
}

/// The whole report.
#[derive(Debug, Default)]
pub struct Report {
    /// Checks of this machine, and of the servers against each other.
    pub local: Vec<Check>,
    pub endpoints: Vec<Endpoint>,
}

impl Report {
    /// Adds the checks that compare servers.
    pub fn compare(&mut self) {
        let mut versions: Vec<&str> = self.endpoints.iter().filter_map(|one| one.version.as_deref()).collect();
        versions.sort_unstable();
        versions.dedup();
        if versions.len() > 1 {
            let found = format!("the servers differ: {}", versions.join(", "));
            self.local.push(Check::note("versions", found));
        }
        let ahead: Vec<f64> = self.endpoints.iter().filter_map(|endpoint| endpoint.ahead).collect();
        if ahead.len() > 1 {
            self.local.push(clocks::between(&ahead));
        }
    }

    /// The number of checks that failed.
    pub fn failed(&self) -> usize {
        let checks = self.endpoints.iter().flat_map(|endpoint| &endpoint.checks).chain(&self.local);
        checks.filter(|check| check.verdict == Verdict::Failed).count()
    }

    /// Whether any server could be connected to.
    pub fn reached(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.reached)
    }

    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        for endpoint in &self.endpoints {
            lines.push(bold(&endpoint.url));
            lines.extend(endpoint.checks.iter().map(line));
        }
        lines.push(bold("this machine"));
        lines.extend(self.local.iter().map(line));
        let style = Style::of_stdout();
        lines.push(match self.failed() {
            0 => style.paint("all checks passed", Tint::Good),
            1 => style.paint("1 check failed", Tint::Bad),
            count => style.paint(&format!("{count} checks failed"), Tint::Bad),
        });
        lines.join("\n")
    }

    pub fn json(&self) -> Value {
        let endpoints: Vec<Value> = self
            .endpoints
            .iter()
            .map(|endpoint| {
                json!({
                    "endpoint": endpoint.url,
                    "version": endpoint.version,
                    "clockAheadSeconds": endpoint.ahead,
                    "checks": endpoint.checks.iter().map(value).collect::<Vec<_>>(),
                })
            })
            .collect();
        json!({
            "healthy": self.failed() == 0,
            "endpoints": endpoints,
            "local": self.local.iter().map(value).collect::<Vec<_>>(),
        })
    }
}

fn line(check: &Check) -> String {
    let (mark, tint) = match check.verdict {
        Verdict::Ok => ("ok  ", Tint::Good),
        Verdict::Note => ("note", Tint::Notice),
        Verdict::Failed => ("FAIL", Tint::Bad),
    };
    let mark = Style::of_stdout().paint(mark, tint);
    format!("  {mark}  {:<12} {}", check.name, escape(&check.found))
}

fn value(check: &Check) -> Value {
    let verdict = match check.verdict {
        Verdict::Ok => "ok",
        Verdict::Note => "note",
        Verdict::Failed => "failed",
    };
    json!({"name": check.name, "verdict": verdict, "found": check.found})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_counted_and_marked() {
        let report = Report {
            local: vec![Check::note("clock", "hpet")],
            endpoints: vec![Endpoint {
                checks: vec![Check::failed("connect", "connection refused")],
                ..Endpoint::default()
            }],
        };
        assert!(report.failed() == 1 && !report.reached());
        let text = report.text();
        assert!(text.contains("  FAIL  connect      connection refused"), "{text}");
        assert!(text.ends_with("1 check failed"), "{text}");
        assert_eq!(report.json()["healthy"], false);
        assert_eq!(report.json()["endpoints"][0]["checks"][0]["verdict"], "failed");
    }

    #[test]
    fn servers_are_compared() {
        let endpoint = |version: &str, ahead| Endpoint {
            version: Some(version.into()),
            ahead: Some(ahead),
            ..Endpoint::default()
        };
        let mut report = Report::default();
        report.endpoints.extend([endpoint("0.1.0", 0.001), endpoint("0.2.0", -0.004)]);
        report.compare();
        let text = report.text();
        assert!(text.contains("the servers differ: 0.1.0, 0.2.0"), "{text}");
        assert!(text.contains("5 ms"), "{text}");
        assert_eq!(report.failed(), 0, "a difference is no failure");
    }
}
