//! The commits of the database, and those that it lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Event, GroupChange, Lead, Recorded, Revision};
use tenure_server::store::Batch;

/// Knowledge about the time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At exactly this time.
    At(Duration),
    /// At this time or earlier, because a client has observed the event.
    By(Duration),
    /// Time unknown.
    Unknown,
}

impl Moment {
    /// Whether the event certainly happened before this time.
    #[must_use]
    pub fn is_before(self, time: Duration) -> bool {
        matches!(self, Self::At(at) | Self::By(at) if at < time)
    }

    /// Whether the event certainly happened after this time.
    #[must_use]
    pub fn is_after(self, time: Duration) -> bool {
        matches!(self, Self::At(at) if at > time)
    }
}

/// Number of sessions that are open at the end of a log.
#[must_use]
pub fn open_sessions(log: &[Arc<Batch>]) -> usize {
    let mut open = BTreeSet::new();
    for recorded in log.iter().flat_map(|batch| &batch.events) {
        match &recorded.event {
            Event::SessionOpened(_) => drop(open.insert(recorded.revision)),
            Event::SessionEnded { opened, .. } => drop(open.remove(opened)),
            _ => {}
        }
    }
    open.len()
}

/// A committed batch.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Time of the commit.
    pub moment: Moment,
    /// Content of the commit.
    pub batch: Arc<Batch>,
}

/// A loss of commits by the database.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Upper bound of the time of the loss.
    pub at: Duration,
    /// The last revision that survived.
    pub after: u64,
}

/// The past of one namespace.
#[derive(Debug, Default)]
pub struct Past {
    /// All known commits, in order, including those that were lost later.
    pub commits: Vec<Commit>,
    /// The surviving log.
    pub log: Vec<Arc<Batch>>,
    /// All losses, in order.
    pub losses: Vec<Loss>,
}

impl Past {
    /// All committed events, with their times.
    pub fn committed(&self) -> impl Iterator<Item = (Moment, &Recorded)> {
        self.commits.iter().flat_map(|commit| commit.batch.events.iter().map(|recorded| (commit.moment, recorded)))
    }

    /// The events of the surviving log.
    pub fn surviving(&self) -> impl Iterator<Item = &Recorded> {
        self.log.iter().flat_map(|batch| &batch.events)
    }

    /// When holds and group leaderships ended, by token. Lost ends do not count. A hold that is granted anew to the same
    /// declared claim goes on under another token: nothing else can have its locks in between.
    #[must_use]
    pub fn ends(&self) -> BTreeMap<u64, Moment> {
        let mut ends = BTreeMap::new();
        // The token that a claim had before it was granted anew, by the new one.
        let mut before: BTreeMap<Revision, Revision> = BTreeMap::new();
        // The leader of each group, with all tokens of its current term.
        let mut leads: BTreeMap<Revision, Vec<Lead>> = BTreeMap::new();
        for (moment, recorded) in self.committed() {
            let (group, lead) = match &recorded.event {
                _ if self.loss_of(recorded.revision.0).is_some() => continue,
                Event::ClaimTransferred { from_token, from_spec, spec, .. }
                    if spec.declared > 0
                        && (&spec.session, spec.declared) == (&from_spec.session, from_spec.declared) =>
                {
                    before.insert(recorded.revision, *from_token);
                    continue;
                }
                Event::ClaimEnded { token: Some(token), .. } | Event::ClaimTransferred { from_token: token, .. } => {
                    for token in std::iter::successors(Some(token), |token| before.get(token)) {
                        ends.entry(token.0).or_insert(moment);
                    }
                    continue;
                }
                Event::HistoryLost { .. } => {
                    let with_new_token = |lead: &Lead| Lead { token: recorded.revision, ..*lead };
                    leads.values_mut().for_each(|leads| leads.extend(leads.last().map(with_new_token)));
                    continue;
                }
                Event::Group { id, change: GroupChange::Joined { lead, .. }, .. } => (*id, Some(*lead)),
                Event::Group { id, change: GroupChange::Left { lead, .. }, .. } => (*id, *lead),
                _ => continue,
            };
            let leads = leads.entry(group).or_default();
            if leads.last().map(|lead| lead.member) != lead.map(|lead| lead.member) {
                ends.extend(leads.drain(..).map(|over| (over.token.0, moment)));
                leads.extend(lead);
            }
        }
        ends
    }

    /// The first surviving revision after a loss.
    #[must_use]
    pub fn jump_after(&self, loss: &Loss) -> Option<u64> {
        let first = self.log.partition_point(|batch| batch.revision().0 <= loss.after);
        let events = self.log.get(first)?.events.iter();
        events.map(|recorded| recorded.revision.0).find(|revision| *revision > loss.after)
    }

    /// The loss that removed this revision.
    #[must_use]
    pub fn loss_of(&self, revision: u64) -> Option<Loss> {
        let may_have_removed =
            |loss: &&Loss| revision > loss.after && self.jump_after(loss).is_none_or(|jump| revision < jump);
        let mut losses = self.losses.iter().filter(may_have_removed).peekable();
        losses.peek()?;
        // Several losses may have gone back to one revision. Those that precede the commit did not remove it.
        let committed = self.moment_of(revision);
        losses.find(|loss| !committed.is_after(loss.at)).copied()
    }

    /// When a revision was committed. Revisions rise with commit order.
    fn moment_of(&self, revision: u64) -> Moment {
        let index = self.commits.partition_point(|commit| commit.batch.revision().0 < revision);
        self.commits.get(index).map_or(Moment::Unknown, |commit| commit.moment)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::ServerId;

    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn commit(seconds: u64, previous: u64, revision: u64) -> Commit {
        let event = Event::HistoryLost { after: Revision(previous) };
        let events = vec![Recorded { revision: Revision(revision), event }];
        let (namespace, previous, server) = ("default".into(), Revision(previous), ServerId(1));
        let batch = Arc::new(Batch { namespace, previous, events, server, number: revision, at_ms: 0 });
        Commit { moment: Moment::At(at(seconds)), batch }
    }

    #[test]
    fn losses_to_the_same_revision_remove_only_earlier_commits() {
        let commits = vec![commit(1, 0, 3), commit(2, 3, 4), commit(4, 3, 100), commit(5, 100, 101), commit(7, 3, 200)];
        let log = [0, 4].map(|index| Arc::clone(&commits[index].batch)).to_vec();
        let losses = vec![Loss { at: at(3), after: 3 }, Loss { at: at(6), after: 3 }];
        let past = Past { commits, log, losses };
        let when = |revision| past.loss_of(revision).map(|loss| loss.at);
        assert_eq!([3, 4, 100, 101, 200].map(when), [None, Some(at(3)), Some(at(6)), Some(at(6)), None]);
    }
}
