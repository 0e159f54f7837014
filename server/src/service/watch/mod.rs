//! Watch: a snapshot, then what happens, at each watcher's own pace.

mod behind;
mod call;
mod events;
mod groups;
mod snapshot;
mod wording;

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tenure_core::defect::Defect;
use tenure_core::{Revision, Table};
use tenure_proto::v1;
use tokio_stream::Stream;

use super::admission::Admitted;
use super::problem::Problem;
use super::{Api, bounds, in_time};
use crate::access::Watching;
use crate::hub::{FanOut, Filter, Heard, Reader};
use crate::sequencer::Namespace;
use behind::{Behind, Over};
pub(super) use call::WatchCalls;
pub(super) use snapshot::Turns;

/// One watch: a stream of encoded messages, see [`wire`](super::wire). It ends when nothing more can happen here.
pub(super) struct Watch {
    reader: Reader,
    /// All up to here has been told, with what is in `told`.
    cursor: Revision,
    /// What the reader has yet to take of what was not shared with others.
    told: VecDeque<Bytes>,
    state: State,
    /// While it is there, the watch is counted.
    _counted: Option<Watching>,
}

/// A look at what happened, under way.
type Reading = Pin<Box<dyn Future<Output = (Behind, Result<Vec<Bytes>, Over>)> + Send>>;

enum State {
    /// It takes what is told to all who watch the same.
    Level(Box<Behind>),
    /// It looks for itself what happened.
    Behind(Reading),
    Over,
}

impl Api {
    /// Begins a watch: refuses it, or makes sure that it can run. Watches of one connection are told together.
    pub(super) async fn watch(&self, asked: Admitted<v1::WatchRequest>, connection: u64) -> Result<Watch, Problem> {
        let (request, principal) = asked.into_parts();
        bounds::watched(&request)?;
        let counted = principal.watch(&request.namespace)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let head = in_time(async { Ok(namespace.read(Table::revision).await?) }).await?;
        if request.after_revision > head.0 {
            let bound = format!("at most {head}, the namespace's revision, not {}", request.after_revision);
            return Err(Problem::field("after_revision", bound));
        }
        let skipped = u64::from(Defect::WatchSkips.is_here() && request.after_revision > 0);
        let cursor = Revision(request.after_revision + skipped).min(head);
        let filter = filter(request);
        let (reader, fan_out) = Reader::new(namespace.hub(), filter.clone(), connection);
        if let Some(fan_out) = fan_out {
            tokio::spawn(self.clone().fan_out(fan_out, namespace.clone()));
        }
        // Who resumes knows what happened up to there, but not necessarily how the groups were.
        let owed = filter.groups.clone();
        let snapshot_first = cursor == Revision(0);
        let turns = self.snapshot_turns().clone();
        let behind = Behind { namespace, filter, cursor, snapshot_first, turns, owed, is_level: false };
        let state = State::Behind(Box::pin(behind.go_on()));
        Ok(Watch { reader, cursor, told: VecDeque::new(), state, _counted: counted })
    }

    async fn fan_out(self, fan_out: FanOut, namespace: Namespace) {
        fan_out.run(&wording::Wording, self.draining().cancelled(), namespace.ended()).await;
    }
}

fn filter(request: v1::WatchRequest) -> Filter {
    let v1::WatchRequest { names, mut prefixes, groups, .. } = request;
    if names.is_empty() && prefixes.is_empty() && groups.is_empty() {
        prefixes.push(String::new());
    }
    Filter {
        names: names.into_iter().collect(),
        prefixes: prefixes.into_iter().collect(),
        groups: groups.into_iter().collect(),
    }
}

impl Stream for Watch {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let watch = &mut *self;
        loop {
            if let Some(message) = watch.told.pop_front() {
                return Poll::Ready(Some(message));
            }
            match &mut watch.state {
                State::Level(_) => match ready!(watch.reader.poll_heard(watch.cursor, context)) {
                    Heard::Told { revision, bytes } => {
                        watch.cursor = revision;
                        return Poll::Ready(Some(bytes));
                    }
                    Heard::Missed => watch.fall_behind(),
                    Heard::Over => watch.state = State::Over,
                },
                State::Behind(going_on) => match going_on.as_mut().poll(context) {
                    Poll::Ready((behind, told)) => watch.take_over(behind, told),
                    Poll::Pending => {
                        watch.reader.register(context);
                        return Poll::Pending;
                    }
                },
                State::Over => return Poll::Ready(None),
            }
        }
    }
}

impl Watch {
    /// Whether the server is about to stop.
    fn is_draining(&self) -> bool {
        self.reader.is_draining()
    }

    fn fall_behind(&mut self) {
        if let State::Level(behind) = std::mem::replace(&mut self.state, State::Over) {
            let behind = Behind { cursor: self.cursor, is_level: false, ..*behind };
            self.state = State::Behind(Box::pin(behind.go_on()));
        }
    }

    fn take_over(&mut self, behind: Behind, told: Result<Vec<Bytes>, Over>) {
        self.state = State::Over;
        let Ok(told) = told else { return };
        self.told = told.into();
        self.cursor = behind.cursor;
        self.state = if behind.owed.is_empty() && self.reader.join(self.cursor) {
            State::Level(Box::new(behind))
        } else {
            State::Behind(Box::pin(behind.go_on()))
        };
    }
}
