//! `lock`: runs CMD once under a lock.

use tokio::time::Instant;

use super::hold::{Answer, Ask, Patience, client, close, failure};
use crate::Context;
use crate::args::LockArgs;
use crate::child::{Outcome, Signals};
use crate::exit::{self, Failure};
use crate::output::{describe_holder, humane, plain, say};

pub async fn lock(context: &Context, args: LockArgs) -> Result<u8, Failure> {
    let mut signals = Signals::catch()?;
    let client = client(context, &args.run).await?;
    let ask = Ask {
        session_id: args.session_id.as_deref(),
        mode: args.mode,
        priority: args.priority,
        min_hold: args.min_hold,
        on_transfer: args.on_transfer,
        ..Ask::new(&args.names, &args.run)
    };
    let patience = match (args.no_wait, args.wait) {
        (true, _) => Patience::None,
        (false, Some(wait)) => Instant::now().checked_add(wait).map_or(Patience::Forever, Patience::Until),
        (false, None) => Patience::Forever,
    };
    let begun = Instant::now();
    let ended = match ask.ask(context, &client, patience, &mut signals).await {
        Ok(Answer::Granted(guard)) => {
            let after = humane(begun.elapsed());
            ask.reported.end(|| format!("tenure: acquired {} after {after}, token {}", ask.shown(), guard.token()));
            match ask.run(context, guard, &mut signals).await {
                Ok(Outcome::Ended(code)) => Ok(code),
                Ok(Outcome::Lost(why)) => Err(Failure::new(
                    exit::HOLD_LOST,
                    format!("{} was lost while the command ran ({why}), so it was stopped", ask.shown()),
                )),
                Ok(Outcome::Stopped) => Err(Failure::new(
                    exit::HOLD_LOST,
                    format!("{} was handed over while the command ran, so it was stopped", ask.shown()),
                )),
                Err(failure) => Err(failure),
            }
        }
        Ok(Answer::Busy(busy)) => {
            if !args.run.quiet {
                let holder = busy.holder.as_ref().map_or_else(|| "somebody else".to_owned(), describe_holder);
                say(&format!("tenure: {} not acquired: {holder}", ask.shown()));
            }
            Ok(args.conflict_exit_code)
        }
        Ok(Answer::SessionInUse) => {
            if !args.run.quiet {
                let id = plain(ask.session_id.unwrap_or_default());
                say(&format!("tenure: {} not acquired: session {id} is in use by another program", ask.shown()));
            }
            Ok(args.conflict_exit_code)
        }
        Ok(Answer::Interrupted(signal)) => Ok(exit::of_signal(signal)),
        Err(error) => Err(failure(context, &error).await),
    };
    close(&client).await;
    ended
}
