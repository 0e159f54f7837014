//! `doctor`: checks this machine and the servers, and reports faults.

mod clocks;
mod probe;
mod report;

use crate::Context;
use crate::exit::{self, Failure};
use report::Report;

pub async fn doctor(context: &Context) -> Result<u8, Failure> {
    let mut report = Report::default();
    report.local.push(clocks::local());
    for url in &context.rpc.endpoints {
        report.endpoints.push(probe::probe(&context.rpc, url, &context.global.namespace).await);
    }
    report.compare();
    context.output.value(&report.json(), || report.text())?;
    Ok(match report.failed() {
        0 => exit::OK,
        _ if report.reached() => exit::CONFLICT,
        _ => exit::UNAVAILABLE,
    })
}
