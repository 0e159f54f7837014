//! Checks whether the other servers can be reached at the addresses that they advertise. If one cannot, nothing fails, but
//! what could be forwarded to it is decided here, in a race with it. That is slow, and would be hard to explain.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tenure_core::ServerId;
use tenure_proto::internal::peer_service_client::PeerServiceClient;
use tokio::time::{Instant, interval_at, timeout};
use tonic::{Code, Status};

use super::link::{Links, REACHING, greeting};
use crate::cluster::membership::MemberView;
use crate::node::Node;
use crate::telemetry::log_throttle::LogThrottle;
use crate::transport::answers::VERSION_HEADER;

/// Delay before the first probe: soon after a start, when addresses are wrong, and after the others are known.
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// Interval between probes.
const PROBE: Duration = Duration::from_secs(5);

/// Minimum interval between log messages about servers that cannot be reached.
const LOG: Duration = Duration::from_secs(60);

/// Probes the other servers, and records those that cannot be reached. Logs those that could not be reached twice: one that
/// has just stopped is not known to be dead yet.
pub(crate) async fn keep_probing(node: Arc<Node>, links: Arc<Links>) {
    let mut throttle = LogThrottle::every(LOG);
    let mut probes = interval_at(Instant::now() + FIRST_PROBE, PROBE);
    loop {
        probes.tick().await;
        let others = node.membership.members().into_iter().filter(|(_, member)| !member.address.is_empty());
        let results = others.map(|(server, member)| {
            let (node, links) = (&node, &links);
            async move { Some((server, probe(links, node.id, server, &member).await.err()?)) }
        });
        let unreachable: BTreeMap<ServerId, String> = join_all(results).await.into_iter().flatten().collect();
        let lasting = unreachable.iter().filter(|(server, _)| node.membership.unreachable(**server).is_some());
        let lasting: Vec<_> = lasting.collect();
        if lasting.is_empty() && throttle.on_recovery() {
            tracing::info!("all other servers can be reached at their advertised addresses");
        }
        if !lasting.is_empty() && throttle.on_error(Instant::now()) {
            for (server, why) in lasting {
                let address = node.membership.member(*server).map(|member| member.address);
                tracing::warn!(
                    %server, label = node.membership.label(*server), address, why,
                    "cannot reach another server at its advertised address, which slows both down: set advertise there"
                );
            }
        }
        node.membership.note_unreachable(unreachable);
    }
}

/// Checks that a server is at its advertised address.
///
/// # Errors
/// The reason if it is not.
async fn probe(links: &Links, from: ServerId, to: ServerId, member: &MemberView) -> Result<(), String> {
    let wire = links.wire(to, member)?;
    // The intended server is checked before the namespace. No namespace has this name, so no link is opened.
    let request = tokio_stream::iter([greeting(from, to, "", 0)]);
    match timeout(REACHING, PeerServiceClient::new(wire).forward(request)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(status)) => judge(&status),
        Err(_) => Err(format!("no reply within {REACHING:?}")),
    }
}

/// What a reply says about the server that sent it.
fn judge(status: &Status) -> Result<(), String> {
    let is_ours = status.metadata().contains_key(VERSION_HEADER);
    match status.code() {
        Code::FailedPrecondition if is_ours => Err("another server replies there".to_owned()),
        // The namespace is not open there, or that server does not know this one yet.
        Code::Unavailable if is_ours => Ok(()),
        _ => Err(with_causes(status)),
    }
}

/// The message of an error with its causes: the outermost one of the transport only says "transport error".
fn with_causes(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = if text.is_empty() { more } else { format!("{text}: {more}") };
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_of_the_intended_server_is_distinguished_from_others() {
        let ours = |mut status: Status| {
            status.metadata_mut().insert(VERSION_HEADER, "1".parse().expect("ASCII"));
            status
        };
        assert_eq!(judge(&ours(Status::unavailable("the namespace is not open"))), Ok(()));
        assert!(judge(&ours(Status::failed_precondition("for another server"))).is_err());
        assert!(judge(&ours(Status::permission_denied("another certificate"))).is_err());
        assert_eq!(judge(&Status::unavailable("a proxy")), Err("a proxy".to_owned()));
        assert!(judge(&Status::unimplemented("")).is_err(), "another program");
    }
}
