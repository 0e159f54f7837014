//! What happened in the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Event, GroupChange, Lead, Recorded, Revision};
use tenure_server::store::Batch;

/// What is known of when something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Just then.
    At(Duration),
    /// Then or before: somebody saw it.
    By(Duration),
    /// Nothing.
    Unknown,
}

impl Moment {
    /// Whether it surely was before that.
    #[must_use]
    pub fn is_before(self, time: Duration) -> bool {
        matches!(self, Self::At(at) | Self::By(at) if at < time)
    }

    /// Whether it surely was after that.
    #[must_use]
    pub fn is_after(self, time: Duration) -> bool {
        matches!(self, Self::At(at) if at > time)
    }
}

/// How many sessions a log leaves open.
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
    /// When.
    pub moment: Moment,
    /// What.
    pub batch: Arc<Batch>,
}

/// The database lost commits.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When, at the latest.
    pub at: Duration,
    /// The last revision that is left of what was there before.
    pub after: u64,
}

/// What happened in the database, in one namespace.
#[derive(Debug, Default)]
pub struct Past {
    /// All that was committed and is known, in order, also what was lost later.
    pub commits: Vec<Commit>,
    /// The log that is left in the end.
    pub log: Vec<Arc<Batch>>,
    /// What was lost, in order.
    pub losses: Vec<Loss>,
}

impl Past {
    /// The events that were committed, with when.
    pub fn committed(&self) -> impl Iterator<Item = (Moment, &Recorded)> {
        self.commits.iter().flat_map(|commit| commit.batch.events.iter().map(|recorded| (commit.moment, recorded)))
    }

    /// The events of the log that is left.
    pub fn left(&self) -> impl Iterator<Item = &Recorded> {
        self.log.iter().flat_map(|batch| &batch.events)
    }

    /// When holds and the lead of groups ended, by token. An end that was lost is none.
    #[must_use]
    pub fn ends(&self) -> BTreeMap<u64, Moment> {
        let mut ends = BTreeMap::new();
        // Who leads each group, with all the tokens that it has led with since.
        let mut leads: BTreeMap<Revision, Vec<Lead>> = BTreeMap::new();
        for (moment, recorded) in self.committed() {
            let (group, lead) = match &recorded.event {
                _ if self.loss_of(recorded.revision.0).is_some() => continue,
                Event::ClaimEnded { token: Some(token), .. } | Event::ClaimTransferred { from_token: token, .. } => {
                    ends.entry(token.0).or_insert(moment);
                    continue;
                }
                Event::HistoryLost { .. } => {
                    let anew = |lead: &Lead| Lead { token: recorded.revision, ..*lead };
                    leads.values_mut().for_each(|leads| leads.extend(leads.last().map(anew)));
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

    /// The first revision that is left of what came after a loss.
    #[must_use]
    pub fn jump_after(&self, loss: &Loss) -> Option<u64> {
        let first = self.log.partition_point(|batch| batch.revision().0 <= loss.after);
        let events = self.log.get(first)?.events.iter();
        events.map(|recorded| recorded.revision.0).find(|left| *left > loss.after)
    }

    /// The loss that took this revision away.
    #[must_use]
    pub fn loss_of(&self, revision: u64) -> Option<Loss> {
        let took = |loss: &&Loss| revision > loss.after && self.jump_after(loss).is_none_or(|jump| revision < jump);
        let mut took = self.losses.iter().filter(took).peekable();
        took.peek()?;
        // Several may have gone back to the same revision: those before it was committed did not take it.
        let committed = self.moment_of(revision);
        took.find(|loss| !committed.is_after(loss.at)).copied()
    }

    /// When a revision was committed. Later ones are always higher.
    fn moment_of(&self, revision: u64) -> Moment {
        let place = self.commits.partition_point(|commit| commit.batch.revision().0 < revision);
        self.commits.get(place).map_or(Moment::Unknown, |commit| commit.moment)
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
    fn of_losses_that_go_back_to_the_same_revision_only_one_that_came_later_took_a_commit() {
        let commits = vec![commit(1, 0, 3), commit(2, 3, 4), commit(4, 3, 100), commit(5, 100, 101), commit(7, 3, 200)];
        let log = [0, 4].map(|left| Arc::clone(&commits[left].batch)).to_vec();
        let losses = vec![Loss { at: at(3), after: 3 }, Loss { at: at(6), after: 3 }];
        let past = Past { commits, log, losses };
        let when = |revision| past.loss_of(revision).map(|loss| loss.at);
        assert_eq!([3, 4, 100, 101, 200].map(when), [None, Some(at(3)), Some(at(6)), Some(at(6)), None]);
    }
}
