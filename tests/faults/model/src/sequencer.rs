//! Models the sequencers: deciding, appending, resolving unknown outcomes, following the log. It stands for
//! `server/src/sequencer/batch.rs` and `replica.rs`.

use crate::client::{Answer, Kind, Note, Stage};
use crate::flaw::Flaw;
use crate::limits::Limits;
use crate::server::{Instance, Job};
use crate::store::Batch;
use crate::table::{Client, Command, Node, Recorded, Revision};
use crate::world::World;

impl Instance {
    /// Creates the node's next batch.
    pub fn batch(&mut self, events: Vec<Recorded>, previous: Revision) -> Batch {
        self.number += 1;
        Batch { previous, node: self.node, number: self.number, events }
    }
}

impl World {
    /// Whether the sequencer has no append in progress.
    #[must_use]
    pub fn is_free(&self, instance: &Instance) -> bool {
        instance.job.is_none() && self.store.in_progress[usize::from(instance.node)].is_none()
    }

    /// Decides a command and starts to append its events. A command without events is answered at once if the replica
    /// is at the head. `Sequencer::carry_out`.
    pub fn begin(&mut self, node: Node, command: Command, caller: Option<Client>, limits: &Limits) {
        loop {
            let (head, intact) = (self.store.head.revision, self.store.intact);
            let Some(instance) = self.instance(node) else { return };
            let events = instance.table.decide(command, limits.flaw);
            let previous = instance.table.revision;
            if !events.is_empty() {
                let batch = instance.batch(events, previous);
                instance.job = Some(Job { command, batch: batch.clone(), caller, unknown: false, sent: true });
                if limits.has(Flaw::PublishedEarly) {
                    self.publish_early(&batch, command, caller, limits);
                }
                self.store.in_progress[usize::from(node)] = Some(batch);
                return;
            }
            if !intact {
                return self.answer(node, caller, Answer::Rejected);
            }
            if previous == head {
                return self.finish(node, command, caller, limits);
            }
            self.catch_up(node, limits);
        }
    }

    /// Implements [`Flaw::PublishedEarly`]: replies precede the commit.
    fn publish_early(&mut self, batch: &Batch, command: Command, caller: Option<Client>, limits: &Limits) {
        let Some(instance) = self.instance(batch.node) else { return };
        let before = instance.clone();
        instance.take_over(batch, limits);
        self.finish(batch.node, command, caller, limits);
        if let Some(instance) = self.instance(batch.node) {
            *instance = before;
        }
    }

    /// Follows the log to its head. If the log does not continue from the replica's revision, history was lost and
    /// replaced. `Replica::follow`.
    pub fn catch_up(&mut self, node: Node, limits: &Limits) {
        let (log, head) = (self.store.log.clone(), self.store.head.clone());
        let Some(instance) = self.instance(node) else { return };
        for batch in log.iter().filter(|batch| batch.revision() > instance.table.revision).collect::<Vec<_>>() {
            if batch.previous != instance.table.revision {
                break;
            }
            instance.take_over(batch, limits);
        }
        if instance.table != head {
            self.reload(node, limits);
            self.close_streams(node);
        }
    }

    fn reload(&mut self, node: Node, limits: &Limits) {
        let head = self.store.head.clone();
        let Some(instance) = self.instance(node) else { return };
        instance.table = head;
        instance.rebuild(limits);
    }

    /// Disconnects the clients of a node. They reconnect and check what they still hold.
    fn close_streams(&mut self, node: Node) {
        for client in self.clients.iter_mut().filter(|client| client.stream == Some(node)) {
            client.disconnect();
        }
    }

    /// Follows the log. After a failover, jumps past every revision that may have been handed out. `Replica::loss`.
    pub fn follow(&mut self, node: Node, limits: &Limits) {
        if limits.has(Flaw::NoJump) {
            self.store.intact = true;
        }
        if self.store.intact {
            return self.catch_up(node, limits);
        }
        self.reload(node, limits);
        let (head, clock) = (self.store.head.revision, self.store.clock());
        let Some(instance) = self.instance(node) else { return };
        instance.seen = instance.seen.max(head);
        let to = if limits.has(Flaw::ShortJump) { head + 1 } else { clock.max(instance.seen + 1) };
        self.begin(node, Command::Jump { to }, None, limits);
    }

    /// The database executes a node's append. Returns whether it was committed.
    pub fn carry_out(&mut self, node: Node, limits: &Limits) -> Option<bool> {
        let batch = self.store.in_progress[usize::from(node)].take()?;
        Some(self.commit(&batch, limits))
    }

    /// Appends a batch if it continues the log.
    pub fn commit(&mut self, batch: &Batch, limits: &Limits) -> bool {
        let committed = self.store.append(batch, limits.flaw);
        if committed {
            self.account.committed(batch);
        }
        committed
    }

    /// The node learns the outcome of its append, if it still waits for it.
    pub fn append_done(&mut self, node: Node, committed: bool, limits: &Limits) {
        let Some(job) = self.instance(node).and_then(|instance| instance.job.take_if(|job| job.sent)) else { return };
        let found = job.unknown && self.store.has(node, job.batch.number);
        if committed || found || limits.has(Flaw::ConflictIsCommitted) {
            self.is_committed(node, job, limits);
        } else if !self.store.intact {
            self.reject(node, &job);
        } else {
            self.catch_up(node, limits);
            if !matches!(job.command, Command::Jump { .. }) {
                self.begin(node, job.command, job.caller, limits);
            }
        }
    }

    fn is_committed(&mut self, node: Node, job: Job, limits: &Limits) {
        if let Some(instance) = self.instance(node) {
            instance.take_over(&job.batch, limits);
        }
        if let Command::Jump { .. } = job.command {
            self.close_streams(node);
        }
        self.finish(node, job.command, job.caller, limits);
    }

    /// The node does not learn the outcome of its append.
    pub fn append_unknown(&mut self, node: Node, limits: &Limits) {
        let Some(mut job) = self.instance(node).and_then(|instance| instance.job.take_if(|job| job.sent)) else {
            return;
        };
        if limits.has(Flaw::UnknownIsRejected) {
            self.reject(node, &job);
        } else if limits.has(Flaw::UnknownIsCommitted) {
            self.is_committed(node, job, limits);
        } else if let Some(instance) = self.instance(node) {
            (job.unknown, job.sent) = (true, false);
            instance.job = Some(job);
        }
    }

    /// The database rejects an append, which was certainly not made. An earlier attempt may have been.
    pub fn append_rejected(&mut self, node: Node) {
        self.store.in_progress[usize::from(node)] = None;
        let Some(mut job) = self.instance(node).and_then(|instance| instance.job.take_if(|job| job.sent)) else {
            return;
        };
        if !job.unknown {
            self.reject(node, &job);
        } else if let Some(instance) = self.instance(node) {
            job.sent = false;
            instance.job = Some(job);
        }
    }

    /// Replies that nothing was changed.
    fn reject(&mut self, node: Node, job: &Job) {
        self.account.rejected(node, job.batch.number, &self.store);
        self.answer(node, job.caller, Answer::Rejected);
    }

    /// Retries the identical append. The database does not let it overtake the first attempt.
    pub fn retry(&mut self, node: Node) {
        let Some(job) = self.instance(node).and_then(|instance| instance.job.as_mut()) else { return };
        job.sent = true;
        let batch = job.batch.clone();
        self.store.in_progress[usize::from(node)] = Some(batch);
    }

    /// Replies to the caller after its command took effect, or required no change.
    fn finish(&mut self, node: Node, command: Command, caller: Option<Client>, limits: &Limits) {
        let Some(client) = caller else { return };
        if let Command::Release { .. } = command {
            return self.answer(node, caller, Answer::Released);
        }
        let kind = self.client(client).request.map(|request| request.kind);
        let Some(instance) = self.instance(node) else { return };
        let open = Answer::Open(instance.table.token_of(client), instance.table.queue.contains(&client));
        let note = instance.renew(client, limits);
        let answer = match note {
            Note::Over => Answer::Over,
            Note::NotHome if instance.table.session(client).is_none() => Answer::Over,
            Note::NotHome => Answer::Rejected,
            Note::Renewed if kind != Some(Kind::Renew) => open,
            Note::Renewed if instance.lease > 0 => Answer::Renewed,
            Note::Renewed => Answer::Rejected,
        };
        if note == Note::Renewed {
            self.account.taken(client, node, &self.store);
        }
        self.answer(node, caller, answer);
    }

    /// Replies to a client, if it still waits.
    pub fn answer(&mut self, node: Node, client: Option<Client>, answer: Answer) {
        let Some(id) = client else { return };
        if answer == Answer::Renewed {
            self.account.renewed(id, &self.store);
        }
        let waiting = self.client(id).request.as_mut().filter(|request| request.to == node);
        if let Some(request) = waiting.filter(|request| !matches!(request.stage, Stage::Answered(_) | Stage::Sent)) {
            request.stage = Stage::Answered(answer);
        }
    }
}
