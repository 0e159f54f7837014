//! The bench of Tenure: one load generator, and the same work for Tenure and for the established alternatives, each
//! started on fresh data with durable settings, and measured in turn. `cargo xtask bench` builds and runs it.

pub mod arguments;
pub mod cpu;
pub mod lab;
pub mod limits;
pub mod machine;
pub mod measure;
pub mod report;
pub mod result;
pub mod run;
pub mod target;
pub mod work;

use crate::arguments::Settings;

/// Runs the selected works one after the other.
///
/// # Errors
/// If a measurement failed, after all others have run.
pub async fn bench(settings: &Settings) -> anyhow::Result<()> {
    limits::raise();
    let works = work::all();
    let mut failures = Vec::new();
    for work in works.iter().filter(|work| settings.wants_work(work.name)) {
        let mut done = run::run(work, settings).await;
        failures.append(&mut done.failures);
        report::store(work, done, settings)?;
    }
    if let Some(out) = &settings.out {
        report::publish(&works, out)?;
    }
    anyhow::ensure!(failures.is_empty(), "failed:\n{}", failures.join("\n"));
    Ok(())
}
