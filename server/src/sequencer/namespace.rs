//! A namespace as those see it who ask something of its sequencer.

use std::sync::Arc;

use tenure_core::{
    Attached, ClaimSpec, Command, RenewError, Renewals, Request, Revision, ServerId, StreamId, Table, Text, Tick, Totals,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::backpressure::Backpressure;
use super::desk::{Desk, SharedDesk};
use super::granted::{SharedGrantTimes, View};
use super::metrics::Sessions;
use super::passing::{News, Pass};
use super::spans;
use super::tally::SharedTotals;
use super::{Attendance, Decided, Decisions, Message, Notices, Outcomes, Reader, Refusal, StreamEnd, Tag, reject};
use crate::cluster::lease::Lease;
use crate::store::log_reader::{LogError, LogReader, Place};
use crate::store::{Batch, Found};
use crate::telemetry::traces::Traced;
use crate::watch::Hub;

/// A namespace of this server.
#[derive(Clone)]
pub struct Namespace {
    pub(super) name: Text,
    pub(super) requests: mpsc::Sender<Message>,
    /// Of those who have something already, and lose it if they are kept waiting.
    pub(super) pressing: mpsc::Sender<Message>,
    pub(super) backpressure: Backpressure,
    pub(super) totals: SharedTotals,
    pub(super) sessions: Sessions,
    pub(super) desk: SharedDesk,
    pub(super) granted: SharedGrantTimes,
    pub(super) lease: Arc<Lease>,
    pub(super) hub: Arc<Hub>,
    pub(super) log_reader: LogReader,
    pub(super) cancel: CancellationToken,
}

impl Namespace {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// Returns when its sequencer has been ended: nothing more happens here.
    pub async fn ended(&self) {
        self.cancel.cancelled().await;
    }

    /// Whether this is the only handle to it.
    pub(crate) fn is_unused(&self) -> bool {
        self.requests.strong_count() == 1
    }

    /// Its watch hub.
    #[must_use]
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Reads about so many events of the log after a revision, when others who do have had their turns. For history that the hub no
    /// longer has.
    ///
    /// # Errors
    /// As [`Store::read`](crate::store::Store::read), or if it takes too long.
    pub(crate) async fn read_log(&self, after: Revision, limit: usize) -> Result<Vec<Arc<Batch>>, LogError> {
        let beginnings = self.hub.beginnings();
        self.log_reader.read(Place { namespace: self.name.clone(), beginnings, after, limit }).await
    }

    /// Looks back in the log for a lock, as [`Store::search`](crate::store::Store::search) does, when others have had their turns.
    ///
    /// # Errors
    /// If the store cannot be asked, or it takes too long.
    pub(crate) async fn search_log(&self, name: &str, until: Revision, limit: usize) -> Result<Found, LogError> {
        self.log_reader.search(&self.name, name, until, limit).await
    }

    /// Whether as many commands wait as may: nobody who wants something new is let in.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.backpressure.is_full()
    }

    /// Decides what a request asks for. It takes effect even if the caller goes away meanwhile.
    ///
    /// # Errors
    /// A [`Refusal`]: nothing was changed, but with [`Refusal::OutcomeUnknown`], which may have changed something, or may yet.
    pub async fn decide(&self, request: impl Into<Request>) -> Result<Decided, Refusal> {
        let request = request.into();
        if !self.backpressure.admits(&request.command) {
            return Err(Refusal::Overloaded);
        }
        let passage = self.passage(&Traced::current(), &request.command);
        let (reply, answer) = oneshot::channel();
        self.enqueue(Message::Decide { request, reply, passage }).await?;
        // Whoever is turned away is told. No answer comes from a sequencer that broke off, maybe after a commit.
        answer.await.map_err(|_| Refusal::OutcomeUnknown)?
    }

    /// The span of a command on its way through the sequencer, as a part of the call that asks for it.
    pub(crate) fn passage(&self, call: &Traced, command: &Command) -> Traced {
        spans::passage(call, &self.name, command)
    }

    /// Decides requests, each with the span of its way, in this order, and tells what came of each. They take effect even if
    /// nobody takes the outcomes.
    ///
    /// # Errors
    /// A [`Refusal`] of all of them; then nothing was changed.
    pub async fn decide_all(
        &self,
        mut requests: Vec<(Tag, Request, Traced)>,
        outcomes: &Outcomes,
    ) -> Result<(), Refusal> {
        if self.backpressure.is_full() {
            let refused = requests.extract_if(.., |(_, request, _)| !self.backpressure.admits(&request.command));
            let told = refused.map(|(tag, _, passage)| (tag, reject(&passage, Refusal::Overloaded))).collect();
            // Nobody is left who would like to know.
            let _ = outcomes.unbounded_send(Decisions { namespace: self.name.clone(), told });
        }
        self.enqueue(Message::DecideAll { requests, outcomes: outcomes.clone() }).await
    }

    /// Lets a message wait for the sequencer. A caller that goes away before it does takes no room.
    async fn enqueue(&self, message: Message) -> Result<(), Refusal> {
        let queue = if message.is_pressing() { &self.pressing } else { &self.requests };
        let place = queue.reserve().await.map_err(|_| Refusal::Draining)?;
        self.backpressure.take(message.load());
        place.send(message);
        Ok(())
    }

    /// Reads the table as it is at the log's head, not earlier than the call.
    ///
    /// # Errors
    /// If the store cannot be asked for the head.
    pub async fn read<T, F>(&self, read: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Table) -> T + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let reader: Reader = Box::new(move |table| {
            // A caller that has gone needs no answer.
            let _ = reply.send(table.map(read));
        });
        self.requests.send(Message::Read(reader)).await.map_err(|_| Refusal::Draining)?;
        answer.await.map_err(|_| Refusal::Draining)?
    }

    /// As [`Self::read`], with what is kept beside the table for people.
    ///
    /// # Errors
    /// If the store cannot be asked for the head.
    pub async fn view<T, F>(&self, view: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&View<'_>) -> T + Send + 'static,
    {
        let granted = self.granted.clone();
        self.read(move |table| view(&View::new(table, &granted))).await
    }

    /// Tells another server of all that is committed here from now on, until that is dropped or does not keep up.
    ///
    /// # Errors
    /// If this server goes on no longer.
    pub async fn follow(&self, server: ServerId) -> Result<mpsc::Receiver<News>, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(Message::Follow { server, reply }).await.map_err(|_| Refusal::Draining)?;
        answer.await.map_err(|_| Refusal::Draining)
    }

    /// Decides what another server passed, if it may be. The verdict is told to it as a follower.
    ///
    /// # Errors
    /// If this server goes on no longer.
    pub async fn take(&self, server: ServerId, pass: Pass) -> Result<(), Refusal> {
        self.requests.send(Message::Take { server, pass }).await.map_err(|_| Refusal::Draining)
    }

    /// Lets the sequencer look at what another server has appended: the head was seen at this revision.
    pub(crate) fn catch_up(&self, head: Revision) {
        // If the queue is full, it will look anyway.
        let _ = self.requests.try_send(Message::CatchUp(head));
    }

    /// Renews a session that has its home here, without asking whether it still has: only for callers who know. It then lives
    /// for its TTL whatever becomes of its stream. `Ok(None)`: its home is elsewhere, as far as is known here.
    ///
    /// # Errors
    /// If the session's time was up, or this server may not answer renewals.
    pub fn renew(&self, session: &str) -> Result<Option<std::time::Duration>, Refusal> {
        let now = self.lease.tick().ok_or(Refusal::LeaseLost)?;
        let mut desk = self.desk.lock();
        let pause = desk.home.since_renewed(session, now).unwrap_or_default();
        match desk.home.renew(session, now) {
            Ok(ttl) => {
                self.sessions.renewed(pause, ttl);
                Ok(Some(ttl))
            }
            Err(RenewError::Over(reason)) => Err(Refusal::over(session, reason)),
            Err(RenewError::Elsewhere | RenewError::NotAttached) => Ok(None),
        }
    }

    /// Renews a session on the stream that it is attached to; [`RenewError`] says why not.
    ///
    /// # Errors
    /// If this server may not answer renewals.
    pub fn keep_alive(&self, session: &str, stream: StreamId) -> Result<Result<std::time::Duration, RenewError>, Refusal> {
        let now = self.lease.tick().ok_or(Refusal::LeaseLost)?;
        Ok(self.keep_alive_at(&mut self.desk.lock(), session, stream, now))
    }

    fn keep_alive_at(
        &self,
        desk: &mut Desk,
        session: &str,
        stream: StreamId,
        now: Tick,
    ) -> Result<std::time::Duration, RenewError> {
        let pause = desk.home.since_renewed(session, now).unwrap_or_default();
        let kept = desk.home.keep_alive(session, stream, now);
        if let Ok(ttl) = kept {
            self.sessions.renewed(pause, ttl);
        }
        kept
    }

    /// Renews sessions on the stream that they are attached to, as [`Self::keep_alive`] does each.
    ///
    /// # Errors
    /// If this server may not answer renewals.
    pub fn keep_all_alive<'a>(
        &self,
        sessions: impl IntoIterator<Item = &'a str>,
        stream: StreamId,
    ) -> Result<Vec<Result<std::time::Duration, RenewError>>, Refusal> {
        let now = self.lease.tick().ok_or(Refusal::LeaseLost)?;
        let mut desk = self.desk.lock();
        Ok(sessions.into_iter().map(|session| self.keep_alive_at(&mut desk, session, stream, now)).collect())
    }

    /// Whether a session has its home here, as far as is known, and was opened by somebody else.
    #[must_use]
    pub fn is_of_another(&self, session: &str, identity: &Text) -> bool {
        self.desk.lock().home.is_of_another(session, identity)
    }

    /// Whether a session has its home here, as far as is known, and was opened by another program.
    #[must_use]
    pub fn is_of_another_client(&self, session: &str, client: &Text) -> bool {
        self.desk.lock().home.is_of_another_client(session, client)
    }

    /// What is known of a session, if it is attached to this stream.
    #[must_use]
    pub fn attached_by(&self, session: &str, stream: StreamId) -> Option<Attached> {
        self.desk.lock().home.attached_by(session, stream)
    }

    /// [`Self::attached_by`] for each of these sessions.
    #[must_use]
    pub fn all_attached_by<'a>(
        &self,
        sessions: impl IntoIterator<Item = &'a str>,
        stream: StreamId,
    ) -> Vec<Option<Attached>> {
        let desk = self.desk.lock();
        sessions.into_iter().map(|session| desk.home.attached_by(session, stream)).collect()
    }

    /// Attaches those of these sessions to a stream that are not attached to it yet, as [`Self::attach`] does each. If that
    /// fails, the session has moved on since, and whoever moved it goes on with it.
    pub fn attach_all<'a>(&self, sessions: impl IntoIterator<Item = &'a Text>, stream: StreamId) {
        let mut desk = self.desk.lock();
        for session in sessions {
            if desk.home.stream_of(session) != Some(stream) {
                let _ = desk.attach(session, stream);
            }
        }
    }

    /// What was granted has been handed over, as [`Attendance::satisfied`] says of each.
    pub fn satisfied(&self, attendances: Vec<Attendance>) {
        let mut desk = self.desk.lock();
        let settled: Vec<Attendance> = attendances.into_iter().map(|attendance| attendance.settle(&mut desk)).collect();
        drop(desk);
        drop(settled);
    }

    /// Attaches a session to a stream, which renews it, and tells the stream that it was attached to before.
    ///
    /// # Errors
    /// If its home is not here, its time was up, or the stream has ended: that is a disconnect of a session that has no other.
    pub fn attach(&self, session: &Text, stream: StreamId) -> Result<(), RenewError> {
        self.desk.lock().attach(session, stream)
    }

    /// How long a claim is kept that nobody attends to.
    #[must_use]
    pub fn reattach(&self) -> std::time::Duration {
        self.desk.lock().home.reattach()
    }

    /// Lets a stream take notices.
    pub fn open_stream(&self, stream: StreamId, notices: Notices) {
        self.desk.lock().open_stream(stream, notices);
    }

    /// Whether the stream still takes notices here. One that does not read them is closed, and all are when the state had to
    /// be loaded anew: the client is to attach again and look what is still its own.
    #[must_use]
    pub fn has_stream(&self, stream: StreamId) -> bool {
        self.desk.lock().has_stream(stream)
    }

    /// How many streams take notices here.
    #[must_use]
    pub fn stream_count(&self) -> usize {
        self.desk.lock().stream_count()
    }

    /// The stream has ended.
    pub fn close_stream(&self, stream: StreamId, end: StreamEnd) {
        self.desk.lock().close_stream(stream, end);
    }

    /// How long a session lives on at least, if its home is here.
    #[must_use]
    pub fn remaining(&self, session: &str) -> Option<std::time::Duration> {
        let now = self.lease.standing_tick();
        self.desk.lock().home.remaining(session, now)
    }

    /// How the renewals came during a hold that lasts, if the home of its session is here.
    #[must_use]
    pub fn renewals(&self, held: Revision, spec: &ClaimSpec) -> Option<Renewals> {
        let now = self.lease.standing_tick();
        self.desk.lock().home.renewals(held, &spec.session, spec.opened, now)
    }

    /// The revision that this server has followed the log to.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.totals.revision()
    }

    /// How much there is, as far as this server has followed the log.
    pub(crate) fn totals(&self) -> Totals {
        self.totals.get()
    }

    /// How many commands wait to be decided.
    pub(crate) fn queue_depth(&self) -> usize {
        self.backpressure.commands()
    }

    /// How many sessions have their home here.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.desk.lock().home.session_count()
    }

    /// Every session that has its home here lives for a full TTL from now, or its full disconnect grace: this server could
    /// take no renewals for a while.
    pub(crate) fn refresh(&self) {
        let now = self.lease.standing_tick();
        self.desk.lock().home.refresh(now);
    }
}
