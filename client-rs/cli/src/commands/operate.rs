//! `transfer`, `evict`, `set`, `blocked`: the operator commands for locks.

use std::time::Duration;

use tenure_proto::v1::{
    ConfigureLockRequest, EvictRequest, EvictResponse, GetLockResponse, ListBlockedRequest, ListBlockedResponse, Lock,
    LockSettings, Preempt, TransferRequest, TransferResponse,
};

use super::proto_duration;
use super::read::{PAGE, get_lock};
use super::waiting;
use crate::Context;
use crate::args::{OperatorArgs, SetArgs, TransferArgs};
use crate::exit::{self, Failure};
use crate::output::{self, claims, describe_claim, escape, settings};
use crate::rpc::{Repeat, all_pages};

/// How long the service itself waits, after the drain, for the holder's confirmation.
const PATIENCE: Duration = Duration::from_secs(2);

pub async fn transfer(context: &Context, args: TransferArgs) -> Result<u8, Failure> {
    // Without a token, a retry could transfer the lock from the next holder.
    let repeat = if args.token.is_some() { Repeat::Safe } else { Repeat::Unsafe };
    let request = TransferRequest {
        namespace: context.namespace(),
        operator: args.by.name(),
        note: args.by.note,
        name: args.name,
        token: args.token.unwrap_or_default(),
        to_session_id: args.to.unwrap_or_default(),
        drain: Some(proto_duration(args.drain)?),
        session_id: String::new(),
    };
    let rpc = context.rpc.with_more_time(args.drain.saturating_add(PATIENCE));
    let transferred = rpc.call(repeat, &request);
    let name = escape(&request.name);
    let drains = |left: &str| format!("waiting for the holder of {name} to hand over; it has {left}");
    let response = tokio::select! {
        response = transferred => response?,
        never = waiting::count_down(args.quiet, args.drain, drains) => match never {},
    };
    context.output.message(&response, |response| describe_transfer(&request.name, response))
}

pub async fn evict(context: &Context, name: String, token: u64, by: OperatorArgs) -> Result<u8, Failure> {
    // Without a token, a retry could evict the next holder.
    let repeat = if token == 0 { Repeat::Unsafe } else { Repeat::Safe };
    let request = EvictRequest { namespace: context.namespace(), name, token, operator: by.name(), note: by.note };
    let response = context.rpc.call(repeat, &request).await?;
    context.output.message(&response, |response| describe_eviction(&request.name, response))
}

pub async fn set(context: &Context, args: SetArgs) -> Result<u8, Failure> {
    let found = get_lock(context, &args.name).await?;
    if args.only_show() {
        return context.output.message(&found, |found| describe_settings(found.lock.as_ref()));
    }
    let request = ConfigureLockRequest {
        namespace: context.namespace(),
        settings: Some(changed(found, &args)?),
        operator: args.by.name(),
        note: args.by.note,
        name: args.name,
    };
    let response = context.rpc.call(Repeat::Safe, &request).await?;
    context.output.message(&response, |response| describe_settings(response.lock.as_ref()))
}

pub async fn blocked(context: &Context, deadlocked_only: bool) -> Result<u8, Failure> {
    let (namespace, page_token) = (context.namespace(), String::new());
    let request = ListBlockedRequest { namespace, deadlocked_only, page_size: PAGE, page_token };
    let all: ListBlockedResponse = all_pages!(context.rpc, request, blocked);
    context.output.message(&all, |all| output::blocked(all, deadlocked_only))?;
    Ok(if deadlocked_only && !all.blocked.is_empty() { exit::CONFLICT } else { exit::OK })
}

/// The settings after the command line is applied; those that it does not name keep their values.
fn changed(found: GetLockResponse, args: &SetArgs) -> Result<LockSettings, Failure> {
    let mut settings = found.lock.and_then(|lock| lock.settings).unwrap_or_default();
    if let Some(limit) = args.limit.or(args.no_limit.then_some(0)) {
        settings.limit = limit;
    }
    if args.preempt {
        let before = settings.preempt.unwrap_or_default();
        settings.preempt = Some(Preempt {
            settling: args.settling.map(proto_duration).transpose()?.or(before.settling),
            drain: args.drain.map(proto_duration).transpose()?.or(before.drain),
        });
    }
    if args.no_preempt {
        settings.preempt = None;
    }
    Ok(settings)
}

fn describe_transfer(name: &str, response: &TransferResponse) -> String {
    let before = response.previous.clone().unwrap_or_default();
    let now = response.claim.clone().unwrap_or_default();
    format!(
        "{}: transferred from {}, token {}, to {}, token {}",
        escape(name),
        describe_claim(&before),
        before.token,
        describe_claim(&now),
        response.token,
    )
}

fn describe_settings(lock: Option<&Lock>) -> String {
    let lock = lock.cloned().unwrap_or_default();
    format!("{}: {} is set", escape(&lock.name), settings(lock.settings.as_ref()))
}

fn describe_eviction(name: &str, response: &EvictResponse) -> String {
    let name = escape(name);
    if response.evicted.is_empty() {
        return format!("{name}: not held, so no hold was evicted");
    }
    format!("{name}: evicted at revision {}\n\n{}", response.revision, claims(response.evicted.iter()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tenure_proto::v1::Claim;

    use super::*;
    use crate::args::{Cli, Command};

    fn claim(token: u64) -> Claim {
        Claim { names: vec!["nightly".into()], token, session_id: "host-b".into(), ..Default::default() }
    }

    #[test]
    fn an_eviction_shows_what_was_evicted() {
        let response = EvictResponse { evicted: vec![claim(41)], ended_count: 1, revision: 50 };
        let text = describe_eviction("nightly", &response);
        assert!(text.contains("evicted at revision 50") && text.contains("host-b") && text.contains("41"), "{text}");
        assert!(describe_eviction("nightly", &EvictResponse::default()).contains("not held"));
    }

    #[test]
    fn transfer_shows_both_holders_with_their_tokens() {
        let now = Claim { session_id: "s2".into(), owner: "bob".into(), token: 9, ..Claim::default() };
        let response = TransferResponse { token: 9, claim: Some(now), previous: Some(claim(4)), revision: 9 };
        assert_eq!(
            describe_transfer("leader", &response),
            "leader: transferred from session host-b, token 4, to bob (session s2), token 9"
        );
    }

    fn after(before: LockSettings, line: &str) -> LockSettings {
        let Command::Set(args) = Cli::parse_from(format!("tenure set pool {line}").split(' ')).command else {
            panic!("not set")
        };
        assert!(!args.only_show());
        let lock = Lock { settings: Some(before), ..Lock::default() };
        changed(GetLockResponse { lock: Some(lock), revision: 1 }, &args).unwrap()
    }

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        let seconds = |seconds| Some(prost_types::Duration { seconds, nanos: 0 });
        let preempt = Some(Preempt { settling: seconds(5), drain: seconds(7) });
        let before = LockSettings { limit: 3, preempt };
        assert_eq!(after(before, "--limit 4"), LockSettings { limit: 4, preempt });
        assert_eq!(after(before, "--no-limit"), LockSettings { limit: 0, preempt });
        assert_eq!(after(before, "--no-preempt"), LockSettings { limit: 3, preempt: None });
        let settling = Some(Preempt { settling: seconds(1), drain: seconds(7) });
        assert_eq!(after(before, "--preempt --settling 1s"), LockSettings { limit: 3, preempt: settling });
        let defaults = Some(Preempt::default());
        assert_eq!(after(LockSettings::default(), "--preempt"), LockSettings { limit: 0, preempt: defaults });
    }
}
