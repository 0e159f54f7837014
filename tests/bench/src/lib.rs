//! The bench of Tenure: one load generator, and the same work for Tenure and for the systems that people use instead, each
//! started here on fresh data with durable settings, and measured in turn. `cargo xtask bench` builds and runs it.

pub mod arguments;
pub mod cpu;
pub mod lab;
pub mod measure;
pub mod report;
pub mod result;
pub mod run;
pub mod target;
pub mod work;

use crate::arguments::Settings;

/// Runs what is asked for, one work after the other.
///
/// # Errors
/// If something could not be measured, after all the rest.
pub async fn bench(settings: &Settings) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for work in work::all() {
        if !settings.wants_work(work.name) {
            continue;
        }
        let done = run::run(&work, settings).await;
        report::write(&work, &done, settings)?;
        failed.extend(done.failures);
    }
    anyhow::ensure!(failed.is_empty(), "failed:\n{}", failed.join("\n"));
    Ok(())
}
