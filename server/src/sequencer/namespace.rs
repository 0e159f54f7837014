//! Handles to a namespace, by which callers send requests to its sequencer.

use std::sync::Arc;

use opentelemetry::Context;
use tenure_core::{
    ClaimSpec, Command, Rejection, RenewError, Renewals, Request, Revision, ServerId, Table, Text, Totals,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::backpressure::Backpressure;
use super::clients::Mailbox;
use super::forwarding::{CommitNotice, Forward};
use super::grant_times::View;
use super::local::SharedLocalState;
use super::metrics::Lateness;
use super::spans;
use super::{Message, Reader, Reply, ReplySender, StreamEnd, Tag, reject};
use crate::cluster::lease::Lease;
use crate::store::log_reader::{LogError, LogReader, PieceStart};
use crate::store::{Batch, Found};
use crate::watch::Hub;

/// A handle to a namespace of this server.
#[derive(Clone)]
pub struct Namespace {
    pub(super) name: Text,
    pub(super) requests: mpsc::Sender<Message>,
    /// Urgent requests, whose callers lose something that they already have if they wait.
    pub(super) urgent: mpsc::Sender<Message>,
    pub(super) backpressure: Backpressure,
    pub(super) totals: watch::Receiver<(Totals, Revision)>,
    pub(super) lateness: Lateness,
    pub(super) local: SharedLocalState,
    pub(super) lease: Arc<Lease>,
    pub(super) hub: Arc<Hub>,
    pub(super) log_reader: Arc<LogReader>,
    pub(super) cancel: CancellationToken,
}

impl Namespace {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// Completes once its sequencer has been stopped: nothing more happens here.
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

    /// Reads about `limit` events of the log after a revision, for history that the hub no longer has. Readers of the
    /// log take turns.
    ///
    /// # Errors
    /// As [`Store::read`](crate::store::Store::read), or if it takes too long.
    pub(crate) async fn read_log(&self, after: Revision, limit: usize) -> Result<Vec<Arc<Batch>>, LogError> {
        let beginnings = self.hub.beginnings();
        self.log_reader.read(PieceStart { namespace: self.name.clone(), beginnings, after, limit }).await
    }

    /// Searches the log backwards for a lock, as [`Store::search`](crate::store::Store::search) does. Readers of the
    /// log take turns.
    ///
    /// # Errors
    /// If the store cannot be reached, or it takes too long.
    pub(crate) async fn search_log(&self, name: &str, until: Revision, limit: usize) -> Result<Found, LogError> {
        self.log_reader.search(&self.name, name, until, limit).await
    }

    /// Whether the queue is full, so that new requests are rejected.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.backpressure.is_full()
    }

    /// Decides a request. It takes effect even if the caller disconnects meanwhile.
    ///
    /// # Errors
    /// A [`Rejection`]: nothing was changed, except with [`Rejection::OutcomeUnknown`], where a change may have been
    /// made, or may yet be.
    pub async fn decide(&self, request: impl Into<Request>) -> Reply {
        let request = request.into();
        if !self.backpressure.admits(&request.command) {
            return Err(Rejection::Overloaded);
        }
        let span = self.command_span(&Context::current(), &request.command);
        let (reply, answer) = oneshot::channel();
        self.enqueue(Message::Decide { request, reply, span }).await?;
        // Rejected callers still receive a reply. A sequencer that broke off, possibly after a commit, sends none.
        answer.await.map_err(|_| Rejection::OutcomeUnknown)?
    }

    /// The span of a command in the sequencer, as a child of the call that requested it.
    pub(crate) fn command_span(&self, call: &Context, command: &Command) -> Context {
        spans::command(call, &self.name, command)
    }

    /// Decides requests, each with its span, in this order, and sends their results. They take effect even if the
    /// results are not received.
    ///
    /// # Errors
    /// A [`Rejection`] of all of them; then nothing was changed.
    pub async fn decide_all(
        &self,
        mut requests: Vec<(Tag, Request, Context)>,
        sender: &ReplySender,
    ) -> Result<(), Rejection> {
        if self.backpressure.is_full() {
            let refused = requests.extract_if(.., |(_, request, _)| !self.backpressure.admits(&request.command));
            let replies = refused.map(|(tag, _, span)| (tag, reject(&span, Rejection::Overloaded))).collect();
            // If the receiver is gone, the results are not needed.
            let _ = sender.unbounded_send(replies);
        }
        self.enqueue(Message::DecideAll { requests, replies: sender.clone() }).await
    }

    /// Queues a message for the sequencer. A caller that cancels before that takes no capacity.
    async fn enqueue(&self, message: Message) -> Result<(), Rejection> {
        let queue = if message.is_urgent() { &self.urgent } else { &self.requests };
        let permit = queue.reserve().await.map_err(|_| Rejection::Draining)?;
        self.backpressure.add(message.load());
        permit.send(message);
        Ok(())
    }

    /// Reads the table at the log's head, as of the call or later.
    ///
    /// # Errors
    /// If the head cannot be read from the store.
    pub async fn read<T, F>(&self, read: F) -> Result<T, Rejection>
    where
        T: Send + 'static,
        F: FnOnce(&Table) -> T + Send + 'static,
    {
        self.view(move |view| read(view.table)).await
    }

    /// Like [`Self::read`], with the display data kept beside the table.
    ///
    /// # Errors
    /// If the head cannot be read from the store.
    pub async fn view<T, F>(&self, read: F) -> Result<T, Rejection>
    where
        T: Send + 'static,
        F: FnOnce(&View<'_>) -> T + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let reader: Reader = Box::new(move |view| {
            // A caller that is gone needs no reply.
            let _ = reply.send(view.map(read));
        });
        self.requests.send(Message::Read(reader)).await.map_err(|_| Rejection::Draining)?;
        answer.await.map_err(|_| Rejection::Draining)?
    }

    /// Sends all that is committed here from now on to another server, on its link with this number, until the receiver
    /// is dropped or does not keep up.
    ///
    /// # Errors
    /// If this server is shutting down.
    pub async fn follow(&self, server: ServerId, link: u64) -> Result<mpsc::Receiver<CommitNotice>, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(Message::Follow { server, link, reply }).await.map_err(|_| Rejection::Draining)?;
        answer.await.map_err(|_| Rejection::Draining)
    }

    /// Decides what another server forwarded, if permitted. The result is sent to that server as a follower.
    ///
    /// # Errors
    /// If this server is shutting down.
    pub async fn forward(&self, server: ServerId, forward: Forward) -> Result<(), Rejection> {
        self.requests.send(Message::Forward { server, forward }).await.map_err(|_| Rejection::Draining)
    }

    /// Lets the sequencer apply what another server has appended: the head was seen at this revision.
    pub(crate) fn catch_up(&self, head: Revision) {
        // If the queue is full, the sequencer checks the head anyway.
        let _ = self.requests.try_send(Message::CatchUp(head));
    }

    /// Renews a session that has its home here, without verifying that it still has: only for callers that know.
    /// `Ok(None)`: its home is elsewhere, as far as is known here, or a client renews it.
    ///
    /// # Errors
    /// If the session is over, or this server may not answer renewals.
    pub fn renew(&self, session: &str) -> Result<Option<std::time::Duration>, Rejection> {
        self.renew_as(session, None)
    }

    /// Like [`Self::renew`], for a caller that must be the identity that opened the session, if it has one.
    ///
    /// # Errors
    /// As [`Self::renew`], or if another identity opened the session.
    pub fn renew_as(&self, session: &str, identity: Option<&Text>) -> Result<Option<std::time::Duration>, Rejection> {
        let now = self.lease.tick();
        let mut local = self.local.lock();
        if identity.is_some_and(|identity| local.home.is_of_another(session, identity)) {
            return Err(Rejection::SessionOfAnother(session.into()));
        }
        let now = now.ok_or(Rejection::LeaseLost)?;
        let pause = local.home.since_renewed(session, now).unwrap_or_default();
        match local.home.renew(session, now) {
            Ok(ttl) => {
                self.lateness.renewed(pause, ttl);
                Ok(Some(ttl))
            }
            Err(RenewError::Ended(reason)) => Err(Rejection::SessionEnded { session: session.into(), reason }),
            Err(RenewError::NotHome | RenewError::OfClient) => Ok(None),
        }
    }

    /// Whether a session has its home here, as far as is known, and was opened by another identity.
    #[must_use]
    pub fn is_of_another(&self, session: &str, identity: &Text) -> bool {
        self.local.lock().home.is_of_another(session, identity)
    }

    /// Registers where the states of what a client has declared are delivered, before it connects with this epoch.
    pub fn register_client(&self, client: &Text, epoch: u64, mailbox: &Mailbox) {
        self.local.lock().clients.add(client.clone(), epoch, mailbox.clone());
    }

    /// Removes the stream of a client. If the client ended it, the disconnect grace of its sessions begins.
    pub fn disconnect_client(&self, client: &Text, epoch: u64, mailbox: &Mailbox, end: StreamEnd) {
        let (since, now, by_client) = (self.revision(), self.lease.standing_tick(), end == StreamEnd::Disconnect);
        let mut local = self.local.lock();
        local.clients.remove(client, epoch, mailbox);
        local.home.client_disconnected(client, epoch, since, by_client, now);
    }

    /// Renews a client, and so all its sessions that are not paused. `false`: it is not connected here with this epoch
    /// any more.
    ///
    /// # Errors
    /// If this server may not answer renewals.
    pub fn renew_client(&self, client: &Text, epoch: u64) -> Result<bool, Rejection> {
        let now = self.lease.tick().ok_or(Rejection::LeaseLost)?;
        Ok(self.local.lock().home.renew_client(client, epoch, now).is_ok())
    }

    /// Pauses the session with this number: it is no longer renewed with its client. `false`: it is not open here, as far
    /// as is known.
    #[must_use]
    pub fn pause(&self, client: &Text, number: u64) -> bool {
        self.local.lock().home.pause(client, number, self.lease.standing_tick())
    }

    /// Renews a paused session, now and from now on with its client. Has no effect if its time is up.
    ///
    /// # Errors
    /// If this server may not answer renewals.
    pub fn resume(&self, client: &Text, number: u64) -> Result<(), Rejection> {
        let now = self.lease.tick().ok_or(Rejection::LeaseLost)?;
        // Its end is reported as such.
        let _ = self.local.lock().home.resume(client, number, now);
        Ok(())
    }

    /// The number of clients that are connected here.
    #[must_use]
    pub fn client_count(&self) -> usize {
        self.local.lock().clients.len()
    }

    /// Minimum remaining life of a session, if its home is here.
    #[must_use]
    pub fn remaining(&self, session: &str) -> Option<std::time::Duration> {
        let now = self.lease.standing_tick();
        self.local.lock().home.remaining(session, now)
    }

    /// How punctual the renewals are during a current hold, if the home of its session is here.
    #[must_use]
    pub fn renewals(&self, held: Revision, spec: &ClaimSpec) -> Option<Renewals> {
        let now = self.lease.standing_tick();
        self.local.lock().home.renewals(held, &spec.session, spec.opened, now)
    }

    /// The revision up to which this server has followed the log.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.totals.borrow().1
    }

    /// The totals of the namespace, as far as this server has followed the log.
    pub(crate) fn totals(&self) -> Totals {
        self.totals.borrow().0
    }

    /// Number of commands that wait to be decided.
    pub(crate) fn queue_depth(&self) -> usize {
        self.backpressure.commands()
    }

    /// Number of sessions that have their home here.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.local.lock().home.session_count()
    }

    /// Extends every session that has its home here to a full TTL from now, or its full disconnect grace: this server
    /// could take no renewals for a while.
    pub(crate) fn refresh(&self) {
        let now = self.lease.standing_tick();
        self.local.lock().home.refresh(now);
    }
}
