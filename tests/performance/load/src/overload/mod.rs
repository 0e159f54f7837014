//! Overload runs: a server is offered three times its capacity by clients that do not wait for replies. It must shed
//! the excess with errors that say so, and no holder may be affected.

mod callers;
mod capacity;
mod flood;
mod holders;
mod probe;
mod tally;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::json;
use tenure_chaos::scan_log;
use tenure_core::{EndReason, Event};
use tokio::time::{Instant, interval};

use self::capacity::{Capacity, closed, measure};
use self::flood::{Flood, Pace};
use self::holders::{Holders, Outcome};
use crate::process::Usage;
use crate::report::Report;
use crate::service::{Base, Service};

/// The offered load, as a multiple of the capacity.
const TIMES: f64 = 3.0;

/// The duration of each step of the capacity measurement, as a fraction of the overload's duration, and its maximum.
const STEP: f64 = 0.2;
const LONGEST_STEP: Duration = Duration::from_secs(2);

/// The interval at which a server's memory is sampled.
const SAMPLE: Duration = Duration::from_millis(100);

/// The maximum memory that the overload may cost, in MB: queued requests are bounded in number, and so in bytes.
const MEMORY: f64 = 512.0;

/// The deadline for reaching the normal rate again, and the fraction of the earlier rate that counts as normal: other
/// programs may use the machine by then.
const RECOVERS: Duration = Duration::from_secs(15);
const NORMAL: f64 = 0.5;

/// The options of an overload run.
#[derive(Args, Clone, Debug)]
pub struct OverloadArguments {
    /// Kind of database.
    #[arg(long, value_enum, default_value_t = Base::Sqlite)]
    pub store: Base,
    /// Duration of the overload, in seconds.
    #[arg(long, default_value_t = 30.0)]
    pub seconds: f64,
    /// TTL of the holders, in seconds.
    #[arg(long, default_value_t = 3.0)]
    pub ttl: f64,
    /// File for the report as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// Runs the overload and returns a report.
///
/// # Errors
/// If something that is not under test fails.
pub async fn overload(arguments: &OverloadArguments) -> anyhow::Result<Report> {
    let begun = Instant::now();
    let mut report =
        Report::new(format!("overload --store {} --seconds {}", arguments.store.name(), arguments.seconds));
    let mut service = Service::start(arguments.store, 1).await?;
    let (url, process) = (service.servers[0].url(), service.servers[0].process_id().context("it runs")?);
    let holders = Holders::start(url.clone(), Duration::from_secs_f64(arguments.ttl)).await?;
    let step = Duration::from_secs_f64(arguments.seconds * STEP).min(LONGEST_STEP);
    measure_baseline(&holders, step, &mut report).await?;

    let (flood, capacity) = measure(Flood::begin(&url).await?, step).await?;
    report.figure("capacity", format!("{:.0} pairs a second, {} at a time", capacity.rate, capacity.at_once));
    report.detail("capacity", &json!({ "rate": capacity.rate, "at_once": capacity.at_once }))?;
    renewals(&holders, "renewals, at capacity", &mut report)?;

    let flood = run_flood(flood, capacity, arguments.seconds, process, &holders, &mut report).await?;
    let flood = wait_for_recovery(flood, capacity, step, &mut report).await?;
    renewals(&holders, "renewals, after", &mut report)?;
    flood.end().await?;
    report.require(service.servers[0].status("/readyz").await == Some(200), "the server is ready", "it is not");
    let outcome = holders.end().await?;
    service.servers[0].stop().await?;
    verify(&outcome, &service.store_url, &mut report).await?;
    report.end(begun.elapsed(), &service.servers, arguments.report.as_deref())?;
    Ok(report)
}

/// Measures the baseline, with renewals only.
async fn measure_baseline(holders: &Holders, time: Duration, report: &mut Report) -> anyhow::Result<()> {
    holders.take_samples();
    tokio::time::sleep(time).await;
    renewals(holders, "renewals, quiet", report)
}

/// Reports the renewals since the last call.
fn renewals(holders: &Holders, when: &str, report: &mut Report) -> anyhow::Result<()> {
    let (renewals, left) = holders.take_samples();
    report.figure(when, format!("{renewals}; at least {left:.0} ms of validity left"));
    report.require(renewals.count > 0, "renewals are answered", when);
    report.require(
        renewals.max < holders.state.ttl.as_secs_f64() * 1e3,
        "a renewal is answered within its TTL",
        format!("{when}: {renewals}"),
    );
    report.detail(when, &json!({ "milliseconds": renewals, "least_left_milliseconds": left }))
}

/// Runs the flood.
async fn run_flood(
    flood: Flood,
    capacity: Capacity,
    seconds: f64,
    process: u32,
    holders: &Holders,
    report: &mut Report,
) -> anyhow::Result<Flood> {
    let before = Usage::of(process)?;
    let rate = capacity.rate * TIMES;
    holders.state.calls.store(true, Ordering::SeqCst);
    let mut running = tokio::spawn(flood.run(Pace::Open(rate), Duration::from_secs_f64(seconds)));
    let (mut tick, mut peak, start) = (interval(SAMPLE), before.memory, Instant::now());
    let (flood, tally) = loop {
        tokio::select! {
            ended = &mut running => break ended??,
            _ = tick.tick() => peak = peak.max(Usage::of(process)?.memory),
        }
    };
    let drained = start.elapsed().saturating_sub(tally.time);
    holders.state.calls.store(false, Ordering::SeqCst);
    report.figure("offered", format!("{rate:.0} a second for {seconds} s: {}", tally.offered));
    report.figure("outcomes", &tally);
    report.figure("granted after", crate::latency::Latency::of(tally.granted.clone()));
    report.figure("shed after", crate::latency::Latency::of(tally.shed.clone()));
    report.figure("released meanwhile", format!("{:.0} a second", tally.rate()));
    report.figure("last answer", format!("{:.1} s after the last request", drained.as_secs_f64()));
    report.figure("memory", format!("{:.0} MB before, at most {peak:.0} MB", before.memory));
    report.detail("overload", &tally.details())?;
    report.detail("memory", &json!({ "before_mb": before.memory, "peak_mb": peak }))?;
    renewals(holders, "renewals, overloaded", report)?;
    report.require(!tally.shed.is_empty(), "excess requests are shed", "none was: the offered load is too low");
    report.require(!tally.granted.is_empty(), "accepted requests are granted in time", "none was");
    report.require(tally.unexpected.is_empty(), "there are no other replies", format!("{:?}", tally.unexpected));
    report.require(peak < before.memory + MEMORY, "memory is bounded", format!("{peak:.0} MB"));
    Ok(flood)
}

/// Waits until the service is back at its normal rate.
async fn wait_for_recovery(
    mut flood: Flood,
    capacity: Capacity,
    step: Duration,
    report: &mut Report,
) -> anyhow::Result<Flood> {
    let start = Instant::now();
    loop {
        let rate;
        (flood, rate) = closed(flood, capacity.at_once, step).await?;
        let (is_normal, took) = (rate >= capacity.rate * NORMAL, start.elapsed());
        if is_normal || took > RECOVERS {
            report.figure("afterwards", format!("{rate:.0} pairs a second {:.1} s later", took.as_secs_f64()));
            report.detail("afterwards", &json!({ "rate": rate, "seconds_later": took.as_secs_f64() }))?;
            report.require(is_normal, "the rate recovers after the overload", format!("{rate:.0} pairs a second"));
            return Ok(flood);
        }
    }
}

/// Checks that neither holders nor plain callers were affected.
async fn verify(outcome: &Outcome, store_url: &str, report: &mut Report) -> anyhow::Result<()> {
    let calls: Vec<String> =
        outcome.calls.outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    report.figure("plain calls", calls.join(", "));
    report.detail("plain_calls", &outcome.calls)?;
    report.require(
        outcome.calls.wrong.is_empty(),
        "plain calls are rejected with a reason and a retry delay",
        format!("{:?}", outcome.calls.wrong),
    );
    let held = Holders::COUNT.saturating_sub(outcome.lost.len());
    report.figure("locks held all the time", format!("{held} of {}", Holders::COUNT));
    report.require(outcome.lost.is_empty(), "renewed sessions keep their locks", outcome.lost.join("; "));
    let holders: BTreeSet<&str> = outcome.sessions.iter().map(String::as_str).chain([probe::SESSION]).collect();
    let (mut events, mut expired, mut grants) = (0, Vec::new(), 0);
    scan_log(store_url, 0, |batch| {
        events += batch.events.len();
        for recorded in &batch.events {
            match &recorded.event {
                Event::SessionEnded { session, reason, .. }
                    if *reason != EndReason::Closed && holders.contains(&**session) && **session != *probe::SESSION =>
                {
                    expired.push(format!("{session}: {}", reason.as_str()));
                }
                Event::ClaimGranted { spec, .. } if holders.contains(&*spec.session) => grants += 1,
                _ => {}
            }
        }
    })
    .await?;
    report.figure("log", format!("{events} events"));
    report.require(expired.is_empty(), "no renewed session ends", expired.join("; "));
    report.require(grants == Holders::COUNT, "each holder was granted its lock once", grants);
    Ok(())
}
