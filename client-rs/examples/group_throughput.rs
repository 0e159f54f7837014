//! Instances of a program that share a total throughput: each prints its share whenever it changes.
//!
//! `cargo run --example group_throughput -- NAME`, several times, with a server at `TENURE_ENDPOINTS` (default: port
//! 7420 of this machine); `tenure group set throughput 1000` sets the total. Start and kill instances, set another
//! total, and watch the shares.
//! With `exact` after the name, the shares add up to the total: the first members get the remainder of the division.

use std::time::Duration;

use tenure_client::v1::Group;
use tenure_client::{Assignments, Client, ClientOptions};

/// The total, which is the group's config; 0 if there is none.
fn total(group: &Group) -> u64 {
    group.config.as_deref().and_then(|total| total.parse().ok()).unwrap_or_default()
}

/// Equal shares; the remainder of the division is not used.
fn evenly(group: &Group) -> Assignments {
    let share = total(group) / group.members.len().max(1) as u64;
    group.assign(|_, _| share.to_string())
}

/// Uses the whole total: the members that joined first get one more each, until the remainder is used up.
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
            // Other members no longer account for this instance: it stops until it is a member again.
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
