//! The flow shared by `lock` and `elect`: acquires with the wait shown, runs CMD while the hold lasts, and releases it.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use tenure_client::{
    Attempt, Client, ClientOptions, Error, Guard, Progress, Session, SessionOptions, SessionState, TransferRequest,
};
use tenure_proto::v1::ErrorReason;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::waiting::{self, Waiting};
use crate::Context;
use crate::args::{Format, ModeArgs, OnTransfer, RunArgs};
use crate::child::{
    Health, HealthCheck, MOST_GRACE_DIVISOR, Outcome, Schedule, Signals, Task, Validity, since_boot, supervise,
};
use crate::exit::{self, Failure};
use crate::output::{by, describe_obstacle, duration, escape, exact, say};
use crate::{rejection, rpc};

/// The number of checks for a renewal per window; a session is renewed three times per window.
const CHECKS_PER_WINDOW: u32 = 24;

/// The pauses between checks whether the session of another program has ended: the first, and the maximum.
const CHECK_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The pauses after a failed attempt to lead or to join: the first, and the maximum.
pub const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// How long closing the session may take at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// An acquire request and its options.
pub struct Acquisition<'a> {
    pub names: &'a [String],
    pub session_id: Option<&'a str>,
    pub mode: ModeArgs,
    pub priority: i32,
    pub min_hold: Duration,
    pub on_transfer: OnTransfer,
    pub run: &'a RunArgs,
    /// Stalled while CMD is unhealthy, which stops renewals.
    pub progress: Progress,
    /// Whether the wait was reported in a log.
    pub reported: Cell<bool>,
}

/// The result of an acquire request.
pub enum AcquireResult {
    Granted(Guard),
    /// Another session holds the locks, or another program uses the session's id; the obstacle, in readable form.
    Busy(String),
    /// A signal ended the wait; its number.
    Interrupted(i32),
}

/// A client with the options of the command line, which are validated first.
pub async fn client(context: &Context, run: &RunArgs) -> Result<Client, Failure> {
    let (window, limit, option) = match run.disconnect_grace {
        Some(grace) if grace < run.ttl => (grace, "the disconnect grace", "--disconnect-grace"),
        _ => (run.ttl, "the TTL", "--ttl"),
    };
    let most = window / MOST_GRACE_DIVISOR;
    if run.kill_grace.is_some_and(|grace| grace > most) {
        let message = format!("--kill-grace: at most a third of {limit}, {}", exact(most));
        return Err(Failure::new(exit::USAGE, message).next(format!("choose a longer {option}")));
    }
    connect(context).await
}

/// A client for the configured endpoints.
pub async fn connect(context: &Context) -> Result<Client, Failure> {
    let options = ClientOptions::new()
        .endpoints(context.global.endpoints.iter().cloned())
        .namespace(context.namespace())
        .call_timeout(context.global.timeout)
        .security(context.rpc.security.clone());
    match Client::connect(options) {
        Ok(client) => Ok(client),
        Err(error) => Err(failure(context, &error).await),
    }
}

impl<'a> Acquisition<'a> {
    /// A request for these locks with default options.
    pub fn new(names: &'a [String], run: &'a RunArgs) -> Self {
        Self {
            names,
            session_id: None,
            mode: ModeArgs::default(),
            priority: 0,
            min_hold: Duration::ZERO,
            on_transfer: OnTransfer::Ignore,
            run,
            progress: Progress::within(Duration::MAX),
            reported: Cell::default(),
        }
    }

    /// Acquires, and waits until `end`, if it is set. A session that is lost while waiting is replaced.
    pub async fn acquire(
        &self,
        context: &Context,
        client: &Client,
        end: Option<Instant>,
        signals: &mut Signals,
    ) -> Result<AcquireResult, Error> {
        tokio::select! {
            result = self.acquire_repeatedly(context, client, end) => result,
            signal = signals.next_termination() => Ok(AcquireResult::Interrupted(signal.as_raw())),
        }
    }

    async fn acquire_repeatedly(
        &self,
        context: &Context,
        client: &Client,
        end: Option<Instant>,
    ) -> Result<AcquireResult, Error> {
        loop {
            let Some(session) = self.open(context, client, end).await? else {
                let id = escape(self.session_id.unwrap_or_default());
                return Ok(AcquireResult::Busy(format!("session {id} is in use by another program")));
            };
            let waiting = Waiting { context, client, session: Some(session.id()), names: self.names };
            let attempt = tokio::select! {
                attempt = self.attempt(&session, end) => attempt,
                never = waiting.show(self.run.quiet, &self.reported) => match never {},
            };
            match attempt {
                Ok(Attempt::Acquired(guard)) => return Ok(AcquireResult::Granted(guard)),
                Ok(Attempt::Busy(busy)) => {
                    let holder = busy.holder.as_deref().map(describe_obstacle);
                    return Ok(AcquireResult::Busy(holder.unwrap_or_else(|| "held by another session".to_owned())));
                }
                Err(Error::Lost(why)) => say(&format!(
                    "tenure: lost the position in the queue for {} ({why}); acquiring again",
                    label(self.names)
                )),
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the session. While another program uses its id, waits until `end`: a restarted program with the same id
    /// thus takes over when the session of its predecessor has ended.
    async fn open(&self, context: &Context, client: &Client, end: Option<Instant>) -> Result<Option<Session>, Error> {
        let (quiet, limit) = (self.run.quiet, context.global.timeout);
        let no_reply = |left: &str| format!("no server has replied yet; retrying for {left} more");
        let opened = tokio::select! {
            opened = client.session(self.session()) => opened,
            never = waiting::count_down(quiet, limit, no_reply) => match never {},
        };
        match (opened, self.session_id) {
            (Err(error), Some(id)) if is_in_use(&error) => tokio::select! {
                opened = self.open_when_free(client, end) => opened,
                never = waiting::for_a_session(quiet, id, &self.reported) => match never {},
            },
            (opened, _) => opened.map(Some),
        }
    }

    async fn open_when_free(&self, client: &Client, end: Option<Instant>) -> Result<Option<Session>, Error> {
        let mut pause = CHECK_PAUSES.0;
        loop {
            let left = time_left(end).unwrap_or(Duration::MAX);
            if left.is_zero() {
                return Ok(None);
            }
            sleep(pause.min(left)).await;
            match client.session(self.session()).await {
                Err(error) if is_in_use(&error) => pause = (pause * 2).min(CHECK_PAUSES.1),
                opened => return opened.map(Some),
            }
        }
    }

    async fn attempt(&self, session: &Session, end: Option<Instant>) -> Result<Attempt<Guard>, Error> {
        let request = session
            .locks(self.names)
            .priority(self.priority)
            .min_hold(self.min_hold)
            .with_metadata(self.run.metadata.iter().cloned().collect());
        let request = self.mode.of(request);
        match time_left(end) {
            None => request.acquire().await.map(Attempt::Acquired),
            Some(left) if left.is_zero() => request.try_acquire().await,
            Some(left) => request.acquire_within(left).await,
        }
    }

    fn session(&self) -> SessionOptions {
        let owner = self.run.owner.clone().unwrap_or_else(host_name);
        let mut options = SessionOptions::new().ttl(self.run.ttl).owner(owner).renew_while(&self.progress);
        if let Some(grace) = self.run.disconnect_grace {
            options = options.disconnect_grace(grace);
        }
        match self.session_id {
            Some(id) => options.id(id),
            None => options,
        }
    }

    /// Runs CMD while the hold lasts, then releases it.
    pub async fn run(&self, context: &Context, guard: Guard, signals: &mut Signals) -> Result<Outcome, Failure> {
        let session = guard.session().clone();
        let schedule = Schedule::new(window(&session), self.run.kill_grace);
        let task = Task {
            own_program: own_program(),
            command: self.run.command.clone(),
            environment: vec![
                ("TENURE_FENCING_TOKEN".to_owned(), guard.token().to_string()),
                ("TENURE_LOCK".to_owned(), guard.names().join(" ")),
                ("TENURE_SESSION_ID".to_owned(), session.id().to_owned()),
            ],
            as_json: context.global.output == Format::Json,
            lock: label(self.names),
            session: Some((session.id().to_owned(), context.global.clone())),
            schedule,
            health: self.health_check(),
        };
        let (sender, validity) = watch::channel(Validity::Until(ends_at(&session)));
        let outcome = tokio::select! {
            outcome = supervise(&task, validity, signals) => outcome,
            never = self.publish_validity(&guard, &session, &sender) => match never {},
        };
        // This confirms a requested handoff.
        if let Ok(Outcome::Ended(_) | Outcome::Stopped) = outcome
            && let Err(error) = guard.release().await
        {
            say(&format!("tenure: {} could not be released; it expires after its TTL: {error}", label(self.names)));
        }
        outcome
    }

    fn health_check(&self) -> Option<HealthCheck> {
        let args = &self.run.health;
        // A former hold may have been lost because CMD was unhealthy.
        self.progress.tick();
        Some(HealthCheck {
            command: args.health_cmd.clone()?,
            interval: args.health_interval,
            timeout: args.health_timeout,
            retries: args.health_retries,
            start_period: args.health_start_period,
            health: watch::Sender::new(Health::Healthy),
            progress: self.progress.clone(),
        })
    }

    /// Publishes the end of validity after each renewal, a requested handoff, and the loss of the hold.
    async fn publish_validity(&self, guard: &Guard, session: &Session, sender: &watch::Sender<Validity>) -> Infallible {
        let pause = window(session) / CHECKS_PER_WINDOW;
        let mut lost = std::pin::pin!(guard.lost());
        let mut at_risk = false;
        let mut until = ends_at(session);
        let mut requested = None;
        loop {
            match session.state() {
                SessionState::AtRisk if !at_risk => {
                    at_risk = true;
                    let why = if self.progress.is_stalled() {
                        "the command is unhealthy"
                    } else {
                        "no server replies to renewals"
                    };
                    say(&format!("tenure: {why}; the hold is at risk"));
                }
                SessionState::Healthy if at_risk => {
                    at_risk = false;
                    say("tenure: renewed; the hold is safe again");
                }
                _ => {}
            }
            tokio::select! {
                why = &mut lost => {
                    sender.send_replace(Validity::Lost(why.to_string()));
                    return pending().await;
                }
                _ = guard.transfer_requested(), if requested.is_none() => {}
                () = sleep(pause) => {}
            }
            let request = guard.transfer_request();
            let is_new = request != requested;
            requested = request;
            if is_new && let Some(request) = &requested {
                say(&self.announcement(request));
            }
            let now = ends_at(session);
            // Each value comes from two clock readings and so differs a little.
            if now > until + pause || is_new {
                until = now;
                sender.send_replace(match &requested {
                    Some(request) if self.on_transfer == OnTransfer::Stop => {
                        Validity::HandOver { until, stop_by: since_boot() + request.remaining() }
                    }
                    _ => Validity::Until(until),
                });
            }
        }
    }

    fn announcement(&self, request: &TransferRequest) -> String {
        let by = by(&request.pending.operator, &request.pending.note);
        let drain = duration(request.pending.drain);
        let then = match self.on_transfer {
            OnTransfer::Stop => "stopping the command",
            OnTransfer::Ignore => "the command runs on (see --on-transfer)",
        };
        format!("tenure: asked{by} to hand over {} within {drain}: {then}", label(self.names))
    }
}

/// The executable of the helper processes: the running one, even if it was replaced on disk meanwhile.
fn own_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| PathBuf::from("tenure"))
    }
}

/// Names of locks, for messages.
pub fn label(names: &[String]) -> String {
    names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(" ")
}

/// The time until `end`. None: no limit.
fn time_left(end: Option<Instant>) -> Option<Duration> {
    end.map(|end| end.saturating_duration_since(Instant::now()))
}

/// Whether another attempt to lead or to join may succeed: servers are unavailable, or only this attempt has ended.
pub fn may_retry(error: &Error) -> bool {
    use ErrorReason::{ClaimEnded, NotMember, SessionEnded, SessionNotFound};

    error.is_transient()
        || matches!(error, Error::Lost(_))
        || matches!(error.reason(), Some(ClaimEnded | SessionEnded | SessionNotFound | NotMember))
}

/// Whether another program uses the session's id.
fn is_in_use(error: &Error) -> bool {
    error.reason() == Some(ErrorReason::SessionInUse)
}

/// How long a renewal keeps the session valid.
fn window(session: &Session) -> Duration {
    session.disconnect_grace().map_or(session.ttl(), |grace| grace.min(session.ttl()))
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

/// Closes the client. If no server replies soon, its session ends by its TTL.
pub async fn close(client: &Client) {
    let _ = timeout(CLOSE_TIMEOUT, client.close()).await;
}

/// Converts an error of the client library. If servers are unavailable, connects to each again to report its cause.
pub async fn failure(context: &Context, error: &Error) -> Failure {
    match error {
        Error::Refused(refusal) => rejection::refused(refusal),
        Error::Unavailable(why) => {
            let mut tried = Vec::new();
            for endpoint in &context.global.endpoints {
                let why = match context.rpc.connect(endpoint, rpc::CONNECT_TIMEOUT).await {
                    Ok(_) => format!("reachable, but the call failed: {why}"),
                    Err(why) => why,
                };
                tried.push((endpoint.as_str(), why));
            }
            rpc::unavailable(&tried)
        }
        Error::Invalid { .. } => Failure::new(exit::USAGE, error.to_string()),
        Error::Lost(_) => Failure::new(exit::HOLD_LOST, error.to_string()),
        _ => Failure::new(exit::REFUSED, error.to_string()),
    }
}
