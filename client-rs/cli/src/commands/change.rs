//! `acquire`, `renew`, `release`, `close`, `evict`: one call each, for scripts and operators.

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    AcquireRequest, AcquireResponse, CloseSessionRequest, EvictRequest, EvictResponse, ReleaseRequest, RenewRequest,
};

use crate::Context;
use crate::args::{AcquireArgs, EvictArgs, ReleaseArgs, SessionIdArgs};
use crate::exit::{self, Failure};
use crate::output::{claims, describe_claim, duration, plain};
use crate::rpc::Repeat;

pub async fn acquire(context: &Context, args: AcquireArgs) -> Result<u8, Failure> {
    // Without a session the server would draw another one for each endpoint that is asked.
    let repeat = if args.session.is_some() { Repeat::Safe } else { Repeat::Unsafe };
    let request = AcquireRequest {
        namespace: context.global.namespace.clone(),
        names: args.names,
        session_id: args.session.unwrap_or_default(),
        ttl: args.ttl.map(proto_duration).transpose()?,
        wait: Some(proto_duration(args.wait)?),
        priority: args.priority,
        owner: args.owner,
        metadata: args.metadata.into_iter().collect(),
        min_hold: if args.min_hold.is_zero() { None } else { Some(proto_duration(args.min_hold)?) },
        ..AcquireRequest::default()
    };
    let response = context
        .rpc
        .with_more_time(args.wait)
        .call(repeat, |channel| {
            let request = request.clone();
            async move { LockServiceClient::new(channel).acquire(request).await }
        })
        .await?;
    context.output.message(&response, |response| describe_answer(&request, response))?;
    Ok(if response.acquired { exit::OK } else { exit::CONFLICT })
}

pub async fn renew(context: &Context, args: SessionIdArgs) -> Result<u8, Failure> {
    let request = RenewRequest { namespace: context.global.namespace.clone(), session_id: args.id };
    let response = context
        .rpc
        .call(Repeat::Safe, |channel| {
            let request = request.clone();
            async move { SessionServiceClient::new(channel).renew(request).await }
        })
        .await?;
    context.output.message(&response, |response| {
        format!("session {} lives on for {}", plain(&request.session_id), duration(response.ttl))
    })?;
    Ok(exit::OK)
}

pub async fn release(context: &Context, args: ReleaseArgs) -> Result<u8, Failure> {
    let request = ReleaseRequest {
        namespace: context.global.namespace.clone(),
        name: args.name,
        session_id: args.session,
        token: args.token,
    };
    let response = context
        .rpc
        .call(Repeat::Safe, |channel| {
            let request = request.clone();
            async move { LockServiceClient::new(channel).release(request).await }
        })
        .await?;
    context.output.message(&response, |_| format!("{}: released", plain(&request.name)))?;
    Ok(exit::OK)
}

pub async fn close(context: &Context, args: SessionIdArgs) -> Result<u8, Failure> {
    let request = CloseSessionRequest { namespace: context.global.namespace.clone(), session_id: args.id };
    let response = context
        .rpc
        .call(Repeat::Safe, |channel| {
            let request = request.clone();
            async move { SessionServiceClient::new(channel).close_session(request).await }
        })
        .await?;
    context.output.message(&response, |_| format!("session {} is closed", plain(&request.session_id)))?;
    Ok(exit::OK)
}

pub async fn evict(context: &Context, args: EvictArgs) -> Result<u8, Failure> {
    let operator = if args.operator.is_empty() { "unknown".to_owned() } else { args.operator };
    // Without a token a second try could hit the next holder.
    let repeat = if args.token == 0 { Repeat::Unsafe } else { Repeat::Safe };
    let request = EvictRequest {
        namespace: context.global.namespace.clone(),
        name: args.name,
        token: args.token,
        operator,
        note: args.note,
    };
    let response = context
        .rpc
        .call(repeat, |channel| {
            let request = request.clone();
            async move { LockServiceClient::new(channel).evict(request).await }
        })
        .await?;
    context.output.message(&response, |response| describe_eviction(&request.name, response))?;
    Ok(exit::OK)
}

fn describe_answer(request: &AcquireRequest, response: &AcquireResponse) -> String {
    let names = request.names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(" ");
    if response.acquired {
        let session = plain(&response.session_id);
        let ttl = duration(response.ttl);
        return format!("{names}: acquired, token {}, session {session}, for {ttl} unless renewed", response.token);
    }
    match &response.holder {
        Some(holder) => {
            let place = if holder.names == request.names {
                String::new()
            } else {
                let others = holder.names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(" ");
                format!(", which has {others}")
            };
            match holder.token {
                0 => format!("{names}: not acquired: {} waits ahead{place}", describe_claim(holder)),
                token => format!("{names}: not acquired: held by {}, token {token}{place}", describe_claim(holder)),
            }
        }
        None => format!("{names}: not acquired"),
    }
}

fn describe_eviction(name: &str, response: &EvictResponse) -> String {
    let name = plain(name);
    if response.evicted.is_empty() {
        return format!("{name}: nobody held it, so nobody was evicted");
    }
    format!("{name}: evicted at revision {}\n\n{}", response.revision, claims(response.evicted.iter()))
}

fn proto_duration(duration: std::time::Duration) -> Result<prost_types::Duration, Failure> {
    prost_types::Duration::try_from(duration)
        .map_err(|_| Failure::new(exit::USAGE, format!("{} s is too long a time", duration.as_secs())))
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::Claim;

    use super::*;

    fn asked() -> AcquireRequest {
        AcquireRequest { names: vec!["nightly".into()], ..Default::default() }
    }

    fn claim(token: u64) -> Claim {
        Claim { names: vec!["nightly".into()], token, session_id: "host-b".into(), ..Default::default() }
    }

    #[test]
    fn a_grant_tells_token_and_session() {
        let response = AcquireResponse {
            acquired: true,
            token: 42,
            session_id: "host-a".into(),
            ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
            ..Default::default()
        };
        let text = describe_answer(&asked(), &response);
        assert_eq!(text, "nightly: acquired, token 42, session host-a, for 1m unless renewed");
    }

    #[test]
    fn a_conflict_tells_who_has_it() {
        let held = AcquireResponse { holder: Some(claim(41)), ..Default::default() };
        assert_eq!(describe_answer(&asked(), &held), "nightly: not acquired: held by session host-b, token 41");
        let queued = AcquireResponse { holder: Some(claim(0)), ..Default::default() };
        assert_eq!(describe_answer(&asked(), &queued), "nightly: not acquired: session host-b waits ahead");
    }

    #[test]
    fn an_eviction_shows_what_was_evicted() {
        let response = EvictResponse { evicted: vec![claim(41)], revision: 50 };
        let text = describe_eviction("nightly", &response);
        assert!(text.contains("evicted at revision 50") && text.contains("host-b") && text.contains("41"), "{text}");
        assert!(describe_eviction("nightly", &EvictResponse::default()).contains("nobody held it"));
    }

    #[test]
    fn durations_that_no_message_can_carry_are_refused() {
        assert_eq!(proto_duration(std::time::Duration::MAX).unwrap_err().code, exit::USAGE);
    }
}
