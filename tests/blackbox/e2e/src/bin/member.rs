//! A group member that divides the group's config evenly while it leads, and reports its status on standard output. On
//! the line `assign` on its standard input it assigns again as the leader that it last was, whether it still leads or
//! not, like a program that was frozen between computing and assigning.
//!
//! `member ENDPOINT GROUP TTL_MS`. Exits at the end of its standard input, so that it never outlives a test.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tenure_client::v1::Group;
use tenure_client::{Client, Standing};
use tenure_e2e::{Calls, rejection};
use tenure_proto::v1::AssignGroupRequest;

/// The value of a late assignment.
const LATE: &str = "late";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (sender, mut commands) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            // Fails only when the process is about to exit.
            let _ = sender.send(line);
        }
        std::process::exit(0);
    });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, name, ttl] = &arguments[..] else { anyhow::bail!("not three arguments") };
    let client = Client::connect(endpoint.as_str()).context("connecting")?;
    let group = client.group(name).ttl(Duration::from_millis(ttl.parse()?));
    let led: Arc<Mutex<Option<Arc<Group>>>> = Arc::default();
    let leading = Arc::clone(&led);
    let taking_part = group.take_part(evenly, move |standing| {
        if standing.leads() {
            *leading.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&standing.group));
        }
        println!("{}", report(standing));
    });
    tokio::pin!(taking_part);
    loop {
        tokio::select! {
            Err(error) = &mut taking_part => return Err(error.into()),
            Some(_) = commands.recv() => {
                let led = led.lock().unwrap_or_else(PoisonError::into_inner).clone().context("it never led")?;
                println!("{}", assign_late(endpoint, &led).await?);
            }
        }
    }
}

fn evenly(group: &Group) -> tenure_client::Assignments {
    let total: usize = group.config.as_deref().and_then(|total| total.parse().ok()).unwrap_or_default();
    group.assign(|_, _| (total / group.members.len().max(1)).to_string())
}

fn report(standing: &Standing) -> String {
    let role = if standing.leads() { "leader" } else { "member" };
    match (&standing.lost, standing.assignment().filter(|_| standing.is_current())) {
        (Some(reason), _) => format!("lost {reason}"),
        (None, Some(share)) => format!("share {share} {role}"),
        (None, None) => format!("waits {role}"),
    }
}

/// Assigns as a former leader, and returns the outcome.
async fn assign_late(endpoint: &str, led: &Group) -> anyhow::Result<String> {
    let leader = led.leader.as_ref().context("the group has no leader")?;
    let request = AssignGroupRequest {
        group: led.name.clone(),
        session_id: leader.session_id.clone(),
        token: leader.token,
        membership_revision: led.membership_revision,
        config_revision: led.config_revision,
        assignments: led.assign(|_, _| LATE.to_owned()),
        ..AssignGroupRequest::default()
    };
    Ok(match Calls::connect(endpoint).await?.groups.assign_group(request).await {
        Ok(_) => "assigned".to_owned(),
        rejected => format!("refused {}", rejection(rejected).reason),
    })
}
