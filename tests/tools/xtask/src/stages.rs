//! Runs stages one after the other, also after failures, and summarizes the results at the end.

use std::time::{Duration, Instant};

use anyhow::bail;

/// The results of the stages so far.
#[derive(Default)]
pub struct Stages {
    done: Vec<Done>,
}

struct Done {
    name: String,
    time: Duration,
    /// Why it failed.
    failure: Option<String>,
}

/// How many lines the causes at the end have in all: with the summary they fit on a screen.
const CAUSES: usize = 30;

impl Stages {
    /// Runs a stage under a heading, and returns whether it passed.
    pub fn stage(&mut self, name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> bool {
        println!("\n== {name}");
        let start = Instant::now();
        let failure = work().err().map(|error| format!("{error:#}"));
        let time = start.elapsed();
        let passed = failure.is_none();
        let word = if passed { "passed" } else { "FAILED" };
        println!(
            "== {name}: {word} in {:.1} s{}",
            time.as_secs_f64(),
            failure.as_ref().map_or_else(String::new, |text| format!(": {text}"))
        );
        self.done.push(Done { name: name.to_string(), time, failure });
        passed
    }

    /// Summarizes the results, and ends with the causes of failures.
    ///
    /// # Errors
    /// If a stage failed: names all failed stages.
    pub fn finish(self) -> anyhow::Result<()> {
        println!("\n== summary");
        for Done { name, time, failure } in &self.done {
            let word = if failure.is_none() { "passed" } else { "FAILED" };
            println!("{word}  {name:<12} {:>7.1} s", time.as_secs_f64());
        }
        let failed: Vec<(&str, &str)> =
            self.done.iter().filter_map(|done| Some((&*done.name, done.failure.as_deref()?))).collect();
        for (name, failure) in &failed {
            println!("\n== {name} FAILED: {}", end(failure, CAUSES / failed.len()));
        }
        if !failed.is_empty() {
            bail!("failed: {}", failed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
        }
        Ok(())
    }
}

/// The first line of a text, and the last ones, in all not more than this.
fn end(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (first, rest) = lines.split_at(lines.len().min(1));
    let rest = &rest[rest.len().saturating_sub(count.saturating_sub(1))..];
    [first, rest].concat().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_text_has_its_first_line() {
        assert_eq!(end("a\nb\nc\nd", 3), "a\nc\nd");
        assert_eq!(end("a\nb", 3), "a\nb");
        assert_eq!(end("", 3), "");
    }
}
