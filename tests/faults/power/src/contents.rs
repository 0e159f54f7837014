//! Checks the data found after a power cut against the answers that clients received.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::{Event, GroupChange, Recorded, Revision, Table};
use tenure_server::store::{Batch, Head, Rows, Store, StoreError, StoreOptions, open};

use crate::load::{Answer, Change};

/// The namespace of all clients.
const NAMESPACE: &str = "default";

/// The number of events per read.
const PAGE: usize = 10_000;

/// The contents of a database.
pub(crate) struct DatabaseContents {
    head: Head,
    log: Vec<Arc<Batch>>,
    rows: Rows,
}

impl DatabaseContents {
    /// Reads everything.
    pub(crate) async fn read(url: &str) -> anyhow::Result<Self> {
        let store = open(&StoreOptions::new(url)).await?;
        let (log, head) = read_log(&*store).await?;
        Ok(Self { head, log, rows: store.load(NAMESPACE).await? })
    }

    fn events(&self) -> impl Iterator<Item = &Recorded> {
        self.log.iter().flat_map(|batch| &batch.events)
    }

    /// The highest revision, which is at least as high as any granted token.
    pub(crate) fn revision(&self) -> u64 {
        self.head.revision.0
    }

    /// The holds according to the log: names and tokens.
    pub(crate) fn holds(&self) -> BTreeSet<(String, u64)> {
        let table = table(self.events());
        let held = table.claims().filter_map(|claim| Some((claim, claim.token()?)));
        held.flat_map(|(claim, token)| claim.spec.names.iter().map(move |name| (name.to_string(), token.0))).collect()
    }

    /// The faults, given the answers received up to the cut at this position in the write log.
    pub(crate) fn faults(&self, answers: &[Answer], cut: usize) -> Vec<String> {
        let mut faults = self.log_faults();
        if faults.is_empty() {
            let contents = LogContents::of(self.events());
            let received = answers.iter().filter(|answer| answer.received_at <= cut);
            let lost = received.filter(|answer| !contents.has(&answer.change));
            faults.extend(lost.map(|answer| format!("lost: {:?}, answered at {}", answer.change, answer.received_at)));
            faults.extend(self.hold_faults(answers, cut));
        }
        faults
    }

    /// Checks that the log is complete, and that the rows match it.
    fn log_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut last = Revision(0);
        for batch in &self.log {
            if batch.previous != last {
                faults.push(format!("the log continues after {last} with a batch after {}", batch.previous));
            }
            for recorded in &batch.events {
                last = last.next();
                if recorded.revision != last {
                    faults.push(format!("the log has {recorded:?} at {last}"));
                }
            }
            last = batch.revision();
        }
        if self.head.revision != last {
            faults.push(format!("the head is at {}, the log ends at {last}", self.head.revision));
        }
        if !self.head.intact {
            faults.push("the database is mistaken for another one".to_owned());
        }
        if self.rows.revision > last {
            faults.push(format!("the rows are at {}, the log ends at {last}", self.rows.revision));
        } else if faults.is_empty() && self.rows_as_table() != table(self.events_up_to_the_rows()) {
            faults.push(format!("the rows at {} do not match the log", self.rows.revision));
        }
        faults
    }

    /// Checks that a granted lock is still held unless its end was requested, and that a hold acknowledged as ended is
    /// no longer held.
    fn hold_faults(&self, answers: &[Answer], cut: usize) -> Vec<String> {
        let table = table(self.events());
        let held: BTreeSet<u64> = table.claims().filter_map(|claim| Some(claim.token()?.0)).collect();
        let mut ended: BTreeSet<u64> = BTreeSet::new();
        let mut may_have_ended: BTreeSet<u64> = BTreeSet::new();
        for answer in answers.iter().filter(|answer| answer.requested_at <= cut) {
            let over = match &answer.change {
                Change::Released { token } => vec![*token],
                Change::Closed { session } => tokens_of(answers, session),
                _ => continue,
            };
            may_have_ended.extend(&over);
            if answer.received_at <= cut {
                ended.extend(over);
            }
        }
        let received = answers.iter().filter(|answer| answer.received_at <= cut);
        let granted = received.filter_map(|answer| match answer.change {
            Change::Granted { token, .. } => Some(token),
            _ => None,
        });
        let missing = granted.filter(|token| !may_have_ended.contains(token) && !held.contains(token));
        let missing =
            missing.map(|token| format!("token {token} is not held any more, though its end was not requested"));
        let revived = ended.intersection(&held).map(|token| format!("token {token} is held again"));
        missing.chain(revived).collect()
    }

    fn rows_as_table(&self) -> Table {
        let Rows { revision, lost, clients, sessions, claims, settings, groups, .. } = self.rows.clone();
        Table::restore(revision, lost, clients, sessions, claims, settings, groups)
    }

    fn events_up_to_the_rows(&self) -> impl Iterator<Item = &Recorded> {
        self.events().filter(|recorded| recorded.revision <= self.rows.revision)
    }
}

/// Reads the whole log and then the head.
async fn read_log(store: &dyn Store) -> Result<(Vec<Arc<Batch>>, Head), StoreError> {
    let mut log: Vec<Arc<Batch>> = Vec::new();
    loop {
        let after = log.last().map_or(Revision(0), |batch| batch.revision());
        let tail = store.read(NAMESPACE, after, PAGE).await?;
        if tail.batches.is_empty() {
            return Ok((log, tail.head));
        }
        log.extend(tail.batches);
    }
}

fn table<'a>(events: impl Iterator<Item = &'a Recorded>) -> Table {
    let mut table = Table::default();
    events.for_each(|recorded| table.apply(recorded));
    table
}

/// The tokens that were granted to a session.
fn tokens_of(answers: &[Answer], session: &str) -> Vec<u64> {
    let granted = answers.iter().filter_map(|answer| match &answer.change {
        Change::Granted { token, session: holder, .. } if holder == session => Some(*token),
        _ => None,
    });
    granted.collect()
}

/// The contents of a log.
#[derive(Default)]
struct LogContents<'a> {
    events: BTreeMap<u64, &'a Event>,
    opened: BTreeSet<&'a str>,
    closed: BTreeSet<&'a str>,
    /// The tokens of holds that have ended.
    released: BTreeSet<u64>,
    limits: BTreeSet<(&'a str, u32)>,
}

impl<'a> LogContents<'a> {
    fn of(log: impl Iterator<Item = &'a Recorded>) -> Self {
        let mut contents = Self::default();
        for Recorded { revision, event } in log {
            contents.events.insert(revision.0, event);
            match event {
                Event::SessionOpened(spec) => drop(contents.opened.insert(&spec.id)),
                Event::SessionEnded { session, .. } => drop(contents.closed.insert(session)),
                Event::ClaimEnded { token: Some(token), .. } => drop(contents.released.insert(token.0)),
                Event::LockConfigured { name, settings, .. } => {
                    contents.limits.extend(settings.limit.map(|set| (&**name, set)))
                }
                _ => {}
            }
        }
        contents
    }

    fn has(&self, change: &Change) -> bool {
        match change {
            Change::Opened { session } => self.opened.contains(&**session),
            Change::Closed { session } => self.closed.contains(&**session),
            Change::Granted { token, names, session } => matches!(
                self.events.get(token),
                Some(Event::ClaimGranted { spec, .. })
                    if *spec.session == **session && spec.names.iter().map(|name| &**name).eq(names)
            ),
            Change::Released { token } => self.released.contains(token),
            Change::Limited { name, limit } => self.limits.contains(&(&**name, *limit)),
            Change::Configured { group, config, revision } => matches!(
                self.events.get(revision),
                Some(Event::Group { group: of, change: GroupChange::Configured { config: Some(value) }, .. })
                    if **of == **group && **value == **config
            ),
        }
    }
}
