//! Copies of a program that share a total throughput: each prints what it may use, whenever that changes.
//!
//! `cargo run --example group_throughput -- NAME`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's port
//! 7420); `tenure group set throughput 1000` sets the total. Start and kill copies, set another total, and see the shares.
//! With `exact` after the name, the shares make the total exactly: the first members get what the division leaves over.

use std::time::Duration;

use tenure_client::{Assignments, Client, ClientOptions, Group};

/// The total, which is the group's config: 0 while there is none.
fn total(group: &Group) -> u64 {
    group.config.as_deref().and_then(|total| total.parse().ok()).unwrap_or_default()
}

/// The same for all: what the division leaves over is not used.
fn evenly(group: &Group) -> Assignments {
    let share = total(group) / group.members.len().max(1) as u64;
    group.assign(|_, _| share.to_string())
}

/// All of it: the members that joined first get one more each, as far as that goes.
fn exactly(group: &Group) -> Assignments {
    let members = group.members.len().max(1) as u64;
    let (share, rest) = (total(group) / members, total(group) % members);
    group.assign(|place, _| (share + u64::from((place as u64) < rest)).to_string())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| format!("copy-{}", std::process::id()));
    let divide = if arguments.next().as_deref() == Some("exact") { exactly } else { evenly };
    let client = Client::connect(ClientOptions::from_env())?;
    let group = client.group("throughput").ttl(Duration::from_millis(1_200)).owner(&name);
    let mut last = String::new();
    let taking_part = group.take_part(divide, |standing| {
        let report = match (&standing.lost, standing.assignment().filter(|_| standing.is_current())) {
            // Nobody else knows of this copy's use any more: it stops until it is a member again.
            (Some(reason), _) => format!("lost reason={reason}"),
            (None, None) => return,
            (None, Some(share)) => {
                let role = if standing.leads() { "leader" } else { "member" };
                format!("share={share} of={} members={} {role}", total(&standing.group), standing.group.members.len())
            }
        };
        if report != last {
            println!("{report}");
            last = report;
        }
    });
    tokio::select! {
        ended = taking_part => match ended {
            Ok(never) => match never {},
            Err(error) => Err(error),
        },
        _ = tokio::signal::ctrl_c() => {
            println!("stopping");
            client.close().await
        }
    }
}
