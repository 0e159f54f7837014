//! Looks whether the other servers can be reached where they say that they are. If one cannot, nothing fails, but whatever could be
//! passed to it is decided here, in a race with it: that is slow, and nobody sees why.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tenure_core::ServerId;
use tenure_proto::internal::peer_service_client::PeerServiceClient;
use tenure_proto::internal::{Begin, PassRequest, pass_request};
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status};

use super::link::{Links, REACHING};
use crate::cluster::membership::MemberView;
use crate::node::Node;
use crate::telemetry::log_throttle::LogThrottle;
use crate::transport::answers::VERSION_HEADER;

/// After how long is looked first: soon after a start, when addresses are wrong, and after the others are known.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// How often is looked.
const LOOK: Duration = Duration::from_secs(5);

/// That servers cannot be reached is logged so often at the most.
const LOG: Duration = Duration::from_secs(60);

/// Keeps looking, and takes note of those that cannot be reached. Logs those that could not be reached twice: one that has just gone
/// is not known to be dead yet.
pub(crate) async fn keep_looking(node: Arc<Node>, links: Arc<Links>) {
    let mut throttle = LogThrottle::every(LOG);
    let mut before: BTreeMap<ServerId, String> = BTreeMap::new();
    let mut pause = FIRST_LOOK;
    loop {
        sleep(pause).await;
        pause = LOOK;
        let others = node.membership.members().into_iter().filter(|(_, member)| !member.address.is_empty());
        let looks = others.map(|(server, member)| {
            let (node, links) = (&node, &links);
            async move { Some((server, look(links, node.id, server, &member).await.err()?)) }
        });
        let unreachable: BTreeMap<ServerId, String> = join_all(looks).await.into_iter().flatten().collect();
        let lasting = unreachable.iter().filter(|(server, _)| before.contains_key(server));
        let lasting: Vec<_> =
            lasting.filter_map(|(server, why)| Some((server, node.membership.member(*server)?, why))).collect();
        if lasting.is_empty() && throttle.on_recovery() {
            tracing::info!("all other servers can be reached at their advertised addresses");
        }
        if !lasting.is_empty() && throttle.on_error(Instant::now()) {
            for (server, MemberView { address, .. }, why) in lasting {
                tracing::warn!(
                    %server, label = node.membership.label(*server), address, why,
                    "cannot reach another server at its advertised address, which slows both down: set advertise there"
                );
            }
        }
        node.membership.note_unreachable(unreachable.clone());
        before = unreachable;
    }
}

/// Looks whether a server is where it says that it is.
///
/// # Errors
/// Why not.
async fn look(links: &Links, from: ServerId, to: ServerId, member: &MemberView) -> Result<(), String> {
    let wire = links.wire(to, member)?;
    // No namespace has this name, so nothing begins; who is meant is looked at before that.
    let begin = Begin { from: from.0, to: to.0, namespace: String::new() };
    let request = tokio_stream::iter([PassRequest { kind: Some(pass_request::Kind::Begin(begin)) }]);
    match timeout(REACHING, PeerServiceClient::new(wire).pass(request)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(status)) => judge(&status),
        Err(_) => Err(format!("no reply within {REACHING:?}")),
    }
}

/// What an answer says of who gave it.
fn judge(status: &Status) -> Result<(), String> {
    let is_ours = status.metadata().contains_key(VERSION_HEADER);
    match status.code() {
        Code::FailedPrecondition if is_ours => Err("another server answers there".to_owned()),
        // Of the namespace, or of what it does not know yet.
        Code::Unavailable if is_ours => Ok(()),
        _ => Err(with_causes(status)),
    }
}

/// The outermost error of the transport only says "transport error".
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
    fn answer_of_the_server_that_is_meant_is_told_from_others() {
        let ours = |mut status: Status| {
            status.metadata_mut().insert(VERSION_HEADER, "1".parse().expect("ASCII"));
            status
        };
        assert_eq!(judge(&ours(Status::unavailable("no namespace that is open here"))), Ok(()));
        assert!(judge(&ours(Status::failed_precondition("another server is meant"))).is_err());
        assert!(judge(&ours(Status::permission_denied("another certificate"))).is_err());
        assert_eq!(judge(&Status::unavailable("a proxy")), Err("a proxy".to_owned()));
        assert!(judge(&Status::unimplemented("")).is_err(), "something else is there");
    }
}
