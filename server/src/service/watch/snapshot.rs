//! What a watch is told first: all that there is.

use std::num::NonZero;
use std::sync::Arc;

use bytes::Bytes;
use tenure_core::{DeadlockSearch, Group, Revision};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::groups;
use super::wording::encode;
use crate::hub::Filter;
use crate::sequencer::{Namespace, Refusal, View};
use crate::service::convert;
use crate::service::seen::SeenLock;

/// How many locks go into one message.
const PART: usize = 500;

/// The turns in which snapshots are made: as many at a time as half of the processors. Each is much to do at once, and nobody needs
/// it as urgently as others do an answer.
#[derive(Clone)]
pub(in crate::service) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(Arc::new(Semaphore::new((processors / 2).max(1))))
    }
}

/// What comes of a turn: the messages that tell what there is, as of this revision.
pub(super) type Made = Result<(Revision, Vec<Bytes>), Refusal>;

impl Turns {
    /// Makes a snapshot when its turn has come. In a task of its own: a reader may stop reading at any time, and a turn must end all
    /// the same. It ends without one if nobody waits for it any more.
    pub(super) fn make(&self, namespace: Namespace, filter: Filter) -> AbortOnDropHandle<Made> {
        let turns = self.0.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            // They are never closed.
            let _turn = turns.acquire().await;
            let snapshot = namespace.view(move |view| Snapshot::of(&filter, view)).await?;
            Ok((snapshot.revision, snapshot.messages().await))
        }))
    }
}

/// What there is of what a filter chooses.
struct Snapshot {
    revision: Revision,
    locks: Vec<SeenLock>,
    groups: Vec<(String, Option<Arc<Group>>)>,
}

impl Snapshot {
    fn of(filter: &Filter, view: &View<'_>) -> Self {
        let table = view.table;
        let mut search = DeadlockSearch::default();
        let (names, prefixes) = without_repetition(filter);
        // Those that are chosen by name also if they are idle.
        let mut locks: Vec<SeenLock> =
            names.into_iter().map(|name| SeenLock::named(&name.into(), view, &mut search)).collect();
        for (name, lock) in prefixes.into_iter().flat_map(|prefix| table.locks_after(prefix, None)) {
            locks.push(SeenLock::of(name, Some(lock), view, &mut search));
        }
        let groups = filter.groups.iter().map(|name| (name.clone(), table.group(name).cloned())).collect();
        Self { revision: table.revision(), locks, groups }
    }

    /// The messages that tell it. Others have their turn in between: there may be many.
    async fn messages(self) -> Vec<Bytes> {
        let mut locks = self.locks.into_iter();
        let of_locks = std::iter::from_fn(|| {
            let part: Vec<_> = locks.by_ref().take(PART).map(v1::Lock::from).collect();
            (!part.is_empty()).then(|| v1::Snapshot { locks: part, ..v1::Snapshot::default() })
        });
        let all_groups = self.groups.iter().map(|(name, group)| convert::group(name, group.as_deref())).collect();
        let of_groups = groups::parts(all_groups).into_iter();
        let of_groups = of_groups.map(|groups| v1::Snapshot { groups, ..v1::Snapshot::default() });
        let mut parts = of_locks.chain(of_groups).peekable();
        let mut messages = Vec::new();
        loop {
            let part = parts.next().unwrap_or_default();
            let more = parts.peek().is_some();
            messages.push(encode(self.revision, Kind::Snapshot(v1::Snapshot { more, ..part })));
            if !more {
                return messages;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// The names and prefixes of a filter, without those that choose nothing which another prefix does not.
fn without_repetition(filter: &Filter) -> (Vec<&str>, Vec<&str>) {
    let mut prefixes: Vec<&str> = Vec::new();
    // In byte order each comes after those that it begins with, and what is in between begins with them, too.
    for prefix in &filter.prefixes {
        if prefixes.last().is_none_or(|last| !prefix.starts_with(last)) {
            prefixes.push(prefix);
        }
    }
    let names = filter.names.iter().map(String::as_str);
    let names = names.filter(|name| !prefixes.iter().any(|prefix| name.starts_with(prefix))).collect();
    (names, prefixes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_chosen_twice() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let (names, prefixes) = (texts(&["a/1", "b", "c"]), texts(&["a", "a/", "aa/b", "b/", "b/c"]));
        let filter = Filter { names, prefixes, ..Filter::default() };
        assert_eq!(without_repetition(&filter), (vec!["b", "c"], vec!["a", "b/"]));
        let all = Filter { prefixes: texts(&["", "a"]), ..filter };
        assert_eq!(without_repetition(&all), (vec![], vec![""]));
    }
}
