//! `acquire`, `renew`, `release`, `close`: each makes one call, for scripts.

use std::cell::Cell;

use tenure_proto::v1::{AcquireRequest, AcquireResponse, CloseSessionRequest, ReleaseRequest, RenewRequest};

use super::hold::{self, connect, label};
use super::proto_duration;
use super::waiting::Waiting;
use crate::Context;
use crate::args::AcquireArgs;
use crate::exit::{self, Failure};
use crate::output::{describe_claim, duration, escape, in_mode};
use crate::rpc::Repeat;

pub async fn acquire(context: &Context, args: AcquireArgs) -> Result<u8, Failure> {
    // Without a session id, each endpoint that is tried would create another session.
    let repeat = if args.session.is_some() { Repeat::Safe } else { Repeat::Unsafe };
    let request = AcquireRequest {
        namespace: context.namespace(),
        names: args.names,
        session_id: args.session.unwrap_or_default(),
        ttl: args.ttl.map(proto_duration).transpose()?,
        wait: Some(proto_duration(args.wait)?),
        priority: args.priority,
        owner: args.owner,
        metadata: args.metadata.into_iter().collect(),
        min_hold: if args.min_hold.is_zero() { None } else { Some(proto_duration(args.min_hold)?) },
        ..args.mode.of_request()
    };
    let rpc = context.rpc.with_more_time(args.wait);
    let acquired = rpc.call(repeat, &request);
    let response = if args.wait.is_zero() {
        acquired.await?
    } else {
        // Without an explicit session, its place in the queue cannot be distinguished from others'.
        let session = Some(request.session_id.as_str()).filter(|id| !id.is_empty());
        let client = connect(context).await?;
        let reported = Cell::new(false);
        let waiting = Waiting { context, client: &client, session, names: &request.names };
        let response = tokio::select! {
            response = acquired => response?,
            never = waiting.show(args.quiet, &reported) => match never {},
        };
        hold::close(&client).await;
        response
    };
    context.output.message(&response, |response| describe_answer(&request, response))?;
    Ok(if response.acquired { exit::OK } else { exit::CONFLICT })
}

pub async fn renew(context: &Context, session_id: String) -> Result<u8, Failure> {
    let request = RenewRequest { namespace: context.namespace(), session_id };
    let response = context.rpc.call(Repeat::Safe, &request).await?;
    context.output.message(&response, |response| {
        let tokens: Vec<String> = response.tokens.iter().map(u64::to_string).collect();
        let held =
            if tokens.is_empty() { "holds nothing".to_owned() } else { format!("holds tokens {}", tokens.join(", ")) };
        format!("session {} is valid for {}, and {held}", escape(&request.session_id), duration(response.ttl))
    })
}

pub async fn release(context: &Context, name: String, session_id: String, token: u64) -> Result<u8, Failure> {
    let request = ReleaseRequest { namespace: context.namespace(), name, session_id, token };
    let response = context.rpc.call(Repeat::Safe, &request).await?;
    context.output.message(&response, |_| format!("{}: released", escape(&request.name)))
}

pub async fn close(context: &Context, session_id: String) -> Result<u8, Failure> {
    let request = CloseSessionRequest { namespace: context.namespace(), session_id };
    let response = context.rpc.call(Repeat::Safe, &request).await?;
    context.output.message(&response, |_| format!("session {} is closed", escape(&request.session_id)))
}

fn describe_answer(request: &AcquireRequest, response: &AcquireResponse) -> String {
    let names = label(&request.names);
    if response.acquired {
        let session = escape(&response.session_id);
        // After a wait, the remaining TTL is not known.
        let time = match response.ttl {
            None => String::new(),
            ttl => format!(", for {} unless renewed", duration(ttl)),
        };
        let mode = response.claim.as_ref().map(in_mode).unwrap_or_default();
        let token = response.token;
        return format!("{names}: acquired, token {token}{mode}, session {session}{time}");
    }
    let Some(holder) = &response.holder else { return format!("{names}: not acquired") };
    let who = describe_claim(holder);
    let others =
        if holder.names == request.names { String::new() } else { format!(", which has {}", label(&holder.names)) };
    match holder.token {
        0 => format!("{names}: not acquired: {who} waits ahead{others}"),
        token => format!("{names}: not acquired: held by {who}, token {token}{}{others}", in_mode(holder)),
    }
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
    fn grant_shows_token_and_session() {
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
    fn conflict_shows_the_holder() {
        let held = AcquireResponse { holder: Some(claim(41)), ..Default::default() };
        assert_eq!(describe_answer(&asked(), &held), "nightly: not acquired: held by session host-b, token 41");
        let queued = AcquireResponse { holder: Some(claim(0)), ..Default::default() };
        assert_eq!(describe_answer(&asked(), &queued), "nightly: not acquired: session host-b waits ahead");
    }
}
