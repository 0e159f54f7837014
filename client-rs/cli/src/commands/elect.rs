//! `elect`: runs CMD while this process leads, and campaigns again after each loss.

use tenure_client::Client;
use tokio::time::sleep;

use super::hold::{AcquireResult, Acquisition, PAUSES, client, close, failure, label, may_retry};
use crate::Context;
use crate::args::ElectArgs;
use crate::child::{Outcome, Signals};
use crate::exit::{self, Failure};
use crate::output::{exact, say};

pub async fn elect(context: &Context, args: ElectArgs) -> Result<u8, Failure> {
    let mut signals = Signals::catch()?;
    let client = client(context, &args.run).await?;
    let ended = campaign(context, &args, &client, &mut signals).await;
    close(&client).await;
    ended
}

async fn campaign(context: &Context, args: &ElectArgs, client: &Client, signals: &mut Signals) -> Result<u8, Failure> {
    let request = Acquisition {
        priority: args.priority,
        on_transfer: args.on_transfer,
        ..Acquisition::new(std::slice::from_ref(&args.name), &args.run)
    };
    let mut pause = PAUSES.0;
    loop {
        let guard = match request.acquire(context, client, None, signals).await {
            Ok(AcquireResult::Granted(guard)) => guard,
            Ok(AcquireResult::Interrupted(signal)) => return Ok(exit::of_signal(signal)),
            // An unlimited wait that ends without a grant was ended by the server: handled like an unavailable server.
            Ok(AcquireResult::Busy(_)) => continue,
            Err(error) if may_retry(&error) => {
                let pause_text = exact(pause);
                say(&format!("{}\n  retrying in {pause_text}", failure(context, &error).await));
                tokio::select! {
                    () = sleep(pause) => {}
                    signal = signals.next_termination() => return Ok(exit::of_signal(signal.as_raw())),
                }
                pause = (pause * 2).min(PAUSES.1);
                continue;
            }
            Err(error) => return Err(failure(context, &error).await),
        };
        pause = PAUSES.0;
        if !args.run.quiet {
            say(&format!("tenure: leading {}, token {}", label(request.names), guard.token()));
        }
        let ended = match request.run(context, guard, signals).await? {
            Outcome::Ended(code) => return Ok(code),
            Outcome::Lost(why) => format!("was lost ({why})"),
            Outcome::Stopped => "was handed over".to_owned(),
        };
        if args.once {
            let message = format!("the lead of {} {ended}, so the command was stopped", label(request.names));
            return Err(Failure::new(exit::HOLD_LOST, message));
        }
        if let Some(signal) = signals.termination() {
            return Ok(exit::of_signal(signal.as_raw()));
        }
        say(&format!("tenure: the lead of {} {ended}; campaigning again", label(request.names)));
    }
}
