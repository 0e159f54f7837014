//! What `lock` and `elect` share: asking, with the wait shown; running CMD while the hold lasts; giving it back.

use std::time::Duration;

use tenure_client::{Attempt, Busy, Client, ClientOptions, Error, Guard, Session, SessionOptions, SessionState};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::waiting;
use crate::Context;
use crate::args::{RunArgs, own_program};
use crate::child::{
    MOST_GRACE_DIVISOR, Outcome, Schedule, SessionToClose, Signals, Task, Validity, since_boot, supervise,
};
use crate::exit::{self, Failure};
use crate::output::{plain, say, show_duration};
use crate::{refusal, rpc};

/// How many times in a TTL it is looked whether there was a renewal; they are three in a TTL.
const LOOKS_PER_TTL: u32 = 24;

/// How long closing the session may take when all is done.
const CLOSING: Duration = Duration::from_secs(1);

/// What to ask for.
pub struct Ask<'a> {
    pub names: &'a [String],
    pub session_id: Option<&'a str>,
    pub priority: i32,
    pub min_hold: Duration,
    pub run: &'a RunArgs,
}

/// What came of asking.
pub enum Answer {
    Granted(Guard),
    Busy(Busy),
    /// A signal ended the wait.
    Interrupted(i32),
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub enum Patience {
    Forever,
    Until(Instant),
    None,
}

/// A client for what the command line says.
pub async fn client(context: &Context, run: &RunArgs) -> Result<Client, Failure> {
    let most = run.ttl / MOST_GRACE_DIVISOR;
    if run.kill_grace.is_some_and(|grace| grace > most) {
        let message = format!("--kill-grace: at most a third of the TTL, {}", show_duration(most));
        return Err(Failure::new(exit::USAGE, message).next("choose a longer --ttl"));
    }
    connect(context).await
}

/// A client for where the service is.
pub async fn connect(context: &Context) -> Result<Client, Failure> {
    let options = ClientOptions::new()
        .endpoints(context.global.endpoints.iter().cloned())
        .namespace(context.global.namespace.clone())
        .call_timeout(context.global.timeout);
    match Client::connect(options) {
        Ok(client) => Ok(client),
        Err(error) => Err(failure(context, &error).await),
    }
}

impl Ask<'_> {
    /// The locks, for messages.
    pub fn shown(&self) -> String {
        self.names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(" ")
    }

    /// Asks, and waits as long as `patience` lasts. A session that is lost while waiting is replaced.
    pub async fn ask(&self, client: &Client, patience: Patience, signals: &mut Signals) -> Result<Answer, Error> {
        tokio::select! {
            answer = self.ask_again(client, patience) => answer,
            signal = signals.next_to_end() => Ok(Answer::Interrupted(signal.as_raw())),
        }
    }

    async fn ask_again(&self, client: &Client, patience: Patience) -> Result<Answer, Error> {
        loop {
            let session = client.session(self.session()).await?;
            let attempt = tokio::select! {
                attempt = self.once(&session, patience) => attempt,
                () = waiting::show(client, &session, self.names, self.run.quiet) => continue,
            };
            return match attempt {
                Ok(Attempt::Acquired(guard)) => Ok(Answer::Granted(guard)),
                Ok(Attempt::Busy(busy)) => Ok(Answer::Busy(busy)),
                Err(Error::Lost(why)) => {
                    say(&format!("tenure: lost the place in the queue for {} ({why}); asking again", self.shown()));
                    continue;
                }
                Err(error) => Err(error),
            };
        }
    }

    async fn once(&self, session: &Session, patience: Patience) -> Result<Attempt, Error> {
        let request = session
            .locks(self.names)
            .priority(self.priority)
            .min_hold(self.min_hold)
            .with_metadata(self.run.metadata.iter().cloned().collect());
        match patience {
            Patience::Forever => request.acquire().await.map(Attempt::Acquired),
            Patience::Until(end) => request.acquire_within(end.saturating_duration_since(Instant::now())).await,
            Patience::None => request.try_acquire().await,
        }
    }

    fn session(&self) -> SessionOptions {
        let owner = self.run.owner.clone().unwrap_or_else(host_name);
        let options = SessionOptions::new().ttl(self.run.ttl).owner(owner);
        match self.session_id {
            Some(id) => options.id(id),
            None => options,
        }
    }

    /// Runs CMD while the hold lasts, then gives it back.
    pub async fn run(&self, context: &Context, guard: Guard, signals: &mut Signals) -> Result<Outcome, Failure> {
        let session = guard.session().clone();
        let schedule = Schedule::new(session.ttl(), self.run.kill_grace);
        let task = Task {
            own_program: own_program(),
            command: self.run.command.clone(),
            environment: vec![
                ("TENURE_FENCING_TOKEN".to_owned(), guard.token().to_string()),
                ("TENURE_LOCK".to_owned(), guard.names().join(" ")),
                ("TENURE_SESSION_ID".to_owned(), session.id().to_owned()),
            ],
            lock: self.shown(),
            session: Some(SessionToClose {
                id: session.id().to_owned(),
                endpoints: context.global.endpoints.clone(),
                namespace: context.global.namespace.clone(),
            }),
            schedule,
        };
        let (tell, validity) = watch::channel(Validity::Until(ends_at(&session)));
        let outcome = tokio::select! {
            outcome = supervise(&task, validity, signals) => outcome,
            never = keep_telling(&guard, &session, &tell) => match never {},
        };
        if let Ok(Outcome::Ended(_)) = outcome
            && let Err(error) = guard.release().await
        {
            say(&format!("tenure: {} could not be given back; it is free after its TTL: {error}", self.shown()));
        }
        outcome
    }
}

/// Tells how long the hold is valid, each time that it was renewed, and that it is lost.
async fn keep_telling(guard: &Guard, session: &Session, tell: &watch::Sender<Validity>) -> std::convert::Infallible {
    let pause = session.ttl() / LOOKS_PER_TTL;
    let mut lost = std::pin::pin!(guard.lost());
    let mut state = session.state();
    let mut at_risk = false;
    loop {
        match &*state.borrow_and_update() {
            SessionState::AtRisk if !at_risk => {
                at_risk = true;
                say("tenure: no server answers renewals; the hold is at risk");
            }
            SessionState::Healthy if at_risk => {
                at_risk = false;
                say("tenure: renewed; the hold is safe again");
            }
            _ => {}
        }
        tokio::select! {
            why = &mut lost => {
                tell.send_replace(Validity::Lost(why.to_string()));
                std::future::pending::<()>().await;
            }
            () = sleep(pause) => {
                let until = ends_at(session);
                tell.send_if_modified(|known| {
                    // Two readings of the clock make each reading a little different.
                    let later = matches!(known, Validity::Until(before) if until > *before + pause);
                    if later {
                        *known = Validity::Until(until);
                    }
                    later
                });
            }
        }
    }
}

/// The end of the session's validity, on the clock that all processes of this machine share.
fn ends_at(session: &Session) -> Duration {
    let now = since_boot();
    now + session.valid_until().saturating_duration_since(std::time::Instant::now())
}

/// This host's name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Ends the client's presence. If no server answers soon, its session ends by its TTL.
pub async fn close(client: &Client) {
    let _ = timeout(CLOSING, client.close()).await;
}

/// An error of the client library as a failure. It looks again why servers are away, to name each of them.
pub async fn failure(context: &Context, error: &Error) -> Failure {
    match error {
        Error::Refused(refusal) => refusal::of(refusal::reason_name(&refusal.reason), &refusal.to_string()),
        Error::Unavailable(why) => {
            let mut tried = Vec::new();
            for endpoint in &context.global.endpoints {
                let why = rpc::connect(endpoint).await.err().unwrap_or_else(|| format!("it did not help: {why}"));
                tried.push((endpoint.as_str(), why));
            }
            rpc::unavailable(&tried)
        }
        Error::Invalid { .. } => Failure::new(exit::USAGE, error.to_string()),
        Error::Lost(_) => Failure::new(exit::HOLD_LOST, error.to_string()),
        _ => Failure::new(exit::REFUSED, error.to_string()),
    }
}
