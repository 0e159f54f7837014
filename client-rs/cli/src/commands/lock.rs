//! `lock`: runs CMD once under a lock.

use std::time::Duration;

use tokio::time::Instant;

use super::hold::{AcquireResult, Acquisition, client, close, failure, label};
use crate::Context;
use crate::args::LockArgs;
use crate::child::{Outcome, Signals};
use crate::exit::{self, Failure};
use crate::output::{human, say};

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
    let begun = Instant::now();
    let wait = if args.no_wait { Some(Duration::ZERO) } else { args.wait };
    let end = wait.and_then(|wait| begun.checked_add(wait));
    let ended = match request.acquire(context, &client, end, &mut signals).await {
        Ok(AcquireResult::Granted(guard)) => {
            if request.reported.get() {
                let after = human(begun.elapsed());
                say(&format!("tenure: acquired {} after {after}, token {}", label(request.names), guard.token()));
            }
            request.run(context, guard, &mut signals).await.and_then(|outcome| match outcome {
                Outcome::Ended(code) => Ok(code),
                Outcome::Lost(why) => Err(stopped(&request, &format!("was lost while the command ran ({why})"))),
                Outcome::Stopped => Err(stopped(&request, "was handed over while the command ran")),
            })
        }
        Ok(AcquireResult::Busy(obstacle)) => {
            if !args.run.quiet {
                say(&format!("tenure: {} not acquired: {obstacle}", label(request.names)));
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
    Failure::new(exit::HOLD_LOST, format!("{} {why}, so it was stopped", label(request.names)))
}
