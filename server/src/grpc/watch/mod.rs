//! Serves watches: a snapshot, then events, at the pace of each reader.

mod behind;
mod call;
mod encode;
mod events;
mod groups;
mod snapshot;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tenure_core::{Rejection, Revision, Table};
use tenure_proto::v1;
use tokio_stream::Stream;
use tonic::Status;

use super::authorize::Admitted;
use super::status::{invalid, rejected};
use super::{Api, in_time, validate};
use crate::auth::Watching;
use crate::limits;
use crate::limits::Share;
use crate::sequencer::Namespace;
use crate::watch::{FanOut, Filter, Reader, Received};
use behind::{Behind, Over};
pub(super) use call::WatchCalls;
pub(super) use snapshot::SnapshotPermits;

/// A watch: a stream of encoded messages, see [`framing`](super::framing). It ends when this server has no more events
/// for it.
pub(super) struct Watch {
    reader: Reader,
    /// Everything up to this revision has been sent.
    cursor: Revision,
    state: State,
    /// Counts the watch until it is dropped.
    _counted: Option<Watching>,
    /// The share of the memory budget that its names and prefixes take.
    _watched: Share,
}

/// A future that encodes the next messages.
type Encoding = Pin<Box<dyn Future<Output = (Behind, Result<Option<Bytes>, Over>)> + Send>>;

enum State {
    /// Takes messages that are encoded once for all watches with the same filter.
    CaughtUp(Box<Behind>),
    /// Is about to encode its own messages.
    Idle(Box<Behind>),
    /// Encodes its own messages.
    Behind(Encoding),
    Over,
}

impl Api {
    /// Starts a watch, or rejects it. Watches of one connection are woken together.
    pub(super) async fn watch(&self, asked: Admitted<v1::WatchRequest>, connection: u64) -> Result<Watch, Status> {
        let (request, principal) = asked.into_parts();
        validate::watched(&request)?;
        let counted = principal.watch(&request.namespace)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let head = in_time(namespace.read(Table::revision)).await?;
        if request.after_revision > head.0 {
            let bound = format!("at most {head}, the namespace's revision, not {}", request.after_revision);
            return Err(invalid("after_revision", bound));
        }
        let cursor = Revision(request.after_revision);
        let filter = Arc::new(filter(request));
        let limit = "bytes of names and prefixes of all watches";
        let full = || rejected(Rejection::LimitReached { limit, bound: limits::WATCHED });
        let watched = self.node()?.watched.try_take(filter.bytes()).ok_or_else(full)?;
        let (reader, fan_out) = Reader::new(namespace.hub(), (*filter).clone(), connection);
        if let Some(fan_out) = fan_out {
            tokio::spawn(self.clone().fan_out(fan_out, namespace.clone()));
        }
        let behind = Behind::new(namespace, filter, self.0.snapshot_permits.clone(), cursor);
        Ok(Watch { reader, cursor, state: State::Idle(Box::new(behind)), _counted: counted, _watched: watched })
    }

    async fn fan_out(self, fan_out: FanOut, namespace: Namespace) {
        fan_out.run(&encode::Encoder, self.draining().cancelled(), namespace.ended()).await;
    }
}

fn filter(request: v1::WatchRequest) -> Filter {
    let v1::WatchRequest { names, mut prefixes, groups, .. } = request;
    if names.is_empty() && prefixes.is_empty() && groups.is_empty() {
        prefixes.push(String::new());
    }
    // Prefixes that another prefix covers are dropped.
    let mut disjoint: BTreeSet<String> = BTreeSet::new();
    // In byte order, a prefix follows those that it starts with, and everything in between starts with them, too.
    for prefix in prefixes.into_iter().collect::<BTreeSet<_>>() {
        if disjoint.last().is_none_or(|last| !prefix.starts_with(last.as_str())) {
            disjoint.insert(prefix);
        }
    }
    let is_new = |name: &String| !disjoint.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let names = names.into_iter().filter(is_new).collect();
    Filter { names, prefixes: disjoint, groups: groups.into_iter().collect() }
}

impl Stream for Watch {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let watch = &mut *self;
        loop {
            match &mut watch.state {
                State::CaughtUp(_) => match ready!(watch.reader.poll_receive(watch.cursor, context)) {
                    Received::Messages { revision, bytes } => {
                        watch.cursor = revision;
                        return Poll::Ready(Some(bytes));
                    }
                    Received::Missed => watch.fall_behind(),
                    Received::Over => watch.state = State::Over,
                },
                State::Idle(_) => watch.go_on(),
                State::Behind(encoding) => match encoding.as_mut().poll(context) {
                    Poll::Ready((behind, next)) => {
                        if let Some(messages) = watch.take_over(behind, next) {
                            return Poll::Ready(Some(messages));
                        }
                    }
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
    /// Whether the server is draining.
    fn is_draining(&self) -> bool {
        self.reader.is_draining()
    }

    /// Starts to encode the next messages.
    fn go_on(&mut self) {
        if let State::Idle(behind) = std::mem::replace(&mut self.state, State::Over) {
            self.state = State::Behind(Box::pin(behind.go_on()));
        }
    }

    fn fall_behind(&mut self) {
        if let State::CaughtUp(behind) = std::mem::replace(&mut self.state, State::Over) {
            self.state = State::Idle(Box::new(behind.since(self.cursor)));
        }
    }

    /// Returns the next messages. More are encoded only when the reader has taken them.
    fn take_over(&mut self, behind: Behind, next: Result<Option<Bytes>, Over>) -> Option<Bytes> {
        self.state = State::Over;
        let next = next.ok()?;
        self.cursor = behind.cursor;
        let behind = Box::new(behind);
        self.state = if behind.has_sent_all() && self.reader.join(self.cursor) {
            State::CaughtUp(behind)
        } else {
            State::Idle(behind)
        };
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_has_no_overlapping_names_and_prefixes() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let selected = |names: &[&str], prefixes: &[&str]| {
            let request = v1::WatchRequest { names: texts(names), prefixes: texts(prefixes), ..Default::default() };
            let Filter { names, prefixes, .. } = filter(request);
            (Vec::from_iter(names), Vec::from_iter(prefixes))
        };
        let names = ["a/1", "b", "c"];
        let expected = (texts(&["b", "c"]), texts(&["a", "b/"]));
        assert_eq!(selected(&names, &["a", "a/", "aa/b", "b/", "b/c"]), expected);
        assert_eq!(selected(&names, &["", "a"]), (vec![], texts(&[""])));
    }
}
