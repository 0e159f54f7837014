//! `lock`: runs CMD once under a lock.

use tokio::time::Instant;

use super::hold::{AcquireResult, Acquisition, Wait, client, close, failure};
use crate::Context;
use crate::args::LockArgs;
use crate::child::{Outcome, Signals};
use crate::exit::{self, Failure};
use crate::output::{describe_holder, escape, human, say};

pub async fn lock(context: &Context, args: LockArgs) -> Result<u8, Failure> {
    let mut signals = Signals::catch()?;
    let client = client(context, &args.run).await?;
    let request = Acquisition {
        session_id: args.session_id.as_deref(),
        mode: args.mode,
        priority: args.priority,
        min_hold: args.min_hold,
        on_transfer: args.on_transfer,
        ..Acquisition::new(&args.names, &args.run)
    };
    let wait = match (args.no_wait, args.wait) {
        (true, _) => Wait::None,
        (false, Some(wait)) => Instant::now().checked_add(wait).map_or(Wait::Unlimited, Wait::Until),
        (false, None) => Wait::Unlimited,
    };
    let begun = Instant::now();
    let ended = match request.acquire(context, &client, wait, &mut signals).await {
        Ok(AcquireResult::Granted(guard)) => {
            let after = human(begun.elapsed());
            request
                .reported
                .end(|| format!("tenure: acquired {} after {after}, token {}", request.label(), guard.token()));
            match request.run(context, guard, &mut signals).await {
                Ok(Outcome::Ended(code)) => Ok(code),
                Ok(Outcome::Lost(why)) => Err(stopped(&request, &format!("was lost while the command ran ({why})"))),
                Ok(Outcome::Stopped) => Err(stopped(&request, "was handed over while the command ran")),
                Err(failure) => Err(failure),
            }
        }
        Ok(AcquireResult::Busy(busy)) => {
            if !args.run.quiet {
                let holder = busy.holder.as_ref().map_or_else(|| "held by another session".to_owned(), describe_holder);
                say(&format!("tenure: {} not acquired: {holder}", request.label()));
            }
            Ok(args.conflict_exit_code)
        }
        Ok(AcquireResult::SessionInUse) => {
            if !args.run.quiet {
                let id = escape(request.session_id.unwrap_or_default());
                say(&format!("tenure: {} not acquired: session {id} is in use by another program", request.label()));
            }
            Ok(args.conflict_exit_code)
        }
        Ok(AcquireResult::Interrupted(signal)) => Ok(exit::of_signal(signal)),
        Err(error) => Err(failure(context, &error).await),
    };
    close(&client).await;
    ended
}

fn stopped(request: &Acquisition<'_>, why: &str) -> Failure {
    Failure::new(exit::HOLD_LOST, format!("{} {why}, so it was stopped", request.label()))
}
