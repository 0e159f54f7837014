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
    passed: bool,
}

impl Stages {
    /// Runs a stage under a heading.
    pub fn stage(&mut self, name: &str, work: impl FnOnce() -> anyhow::Result<()>) {
        println!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        match &result {
            Ok(()) => println!("== {name}: passed in {:.1} s", time.as_secs_f64()),
            Err(error) => println!("== {name}: FAILED in {:.1} s: {error:#}", time.as_secs_f64()),
        }
        self.done.push(Done { name: name.to_string(), time, passed: result.is_ok() });
    }

    /// Summarizes the results.
    ///
    /// # Errors
    /// If a stage failed: names all failed stages.
    pub fn finish(self) -> anyhow::Result<()> {
        println!("\n== summary");
        for Done { name, time, passed } in &self.done {
            let word = if *passed { "passed" } else { "FAILED" };
            println!("{word}  {name:<12} {:>7.1} s", time.as_secs_f64());
        }
        let failed: Vec<&str> = self.done.iter().filter(|done| !done.passed).map(|done| done.name.as_str()).collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}
