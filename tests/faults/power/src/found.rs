//! Checks the data found after a power cut against the answers that clients received.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::{Event, GroupChange, Recorded, Revision, Table};
use tenure_server::store::{Batch, Head, Rows, Store, StoreError, StoreOptions, open};

use crate::load::{Answer, Told};

/// The namespace of all clients.
const NAMESPACE: &str = "default";

/// The number of events per read.
const READ: usize = 10_000;

/// The contents of a database.
pub(crate) struct Found {
    head: Head,
    log: Vec<Arc<Batch>>,
    rows: Rows,
}

impl Found {
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

    /// The faults, given the answers received up to the cut at this position of the tape.
    pub(crate) fn faults(&self, answers: &[Answer], cut: usize) -> Vec<String> {
        let mut faults = self.faults_of_the_log();
        if faults.is_empty() {
            let said = Said::of(self.events());
            let told = answers.iter().filter(|answer| answer.had <= cut);
            let lost = told.filter(|answer| !said.has(&answer.told));
            faults.extend(lost.map(|answer| format!("lost: {:?}, answered at {}", answer.told, answer.had)));
            faults.extend(self.faults_of_the_table(answers, cut));
        }
        faults
    }

    /// Checks that the log is complete, and that the rows match it.
    fn faults_of_the_log(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut last = Revision(0);
        for batch in &self.log {
            if batch.previous != last {
                faults.push(format!("the log goes on after {last} with a batch after {}", batch.previous));
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
            faults.push("the database seems to be another one".to_owned());
        }
        if self.rows.revision > last {
            faults.push(format!("the rows are at {}, the log ends at {last}", self.rows.revision));
        } else if faults.is_empty() && self.rows_as_table() != table(self.events_up_to_the_rows()) {
            faults.push(format!("the rows at {} are not what the log says", self.rows.revision));
        }
        faults
    }

    /// Checks that a granted lock is still held unless its end was requested, and that a hold acknowledged as ended is
    /// no longer held.
    fn faults_of_the_table(&self, answers: &[Answer], cut: usize) -> Vec<String> {
        let table = table(self.events());
        let held: BTreeSet<u64> = table.claims().filter_map(|claim| Some(claim.token()?.0)).collect();
        let mut ended: BTreeSet<u64> = BTreeSet::new();
        let mut perhaps_ended: BTreeSet<u64> = BTreeSet::new();
        for answer in answers.iter().filter(|answer| answer.asked <= cut) {
            let over = match &answer.told {
                Told::Released { token } => vec![*token],
                Told::Closed { session } => tokens_of(answers, session),
                _ => continue,
            };
            perhaps_ended.extend(&over);
            if answer.had <= cut {
                ended.extend(over);
            }
        }
        let told = answers.iter().filter(|answer| answer.had <= cut);
        let granted = told.filter_map(|answer| match answer.told {
            Told::Granted { token, .. } => Some(token),
            _ => None,
        });
        let missing = granted.filter(|token| !perhaps_ended.contains(token) && !held.contains(token));
        let missing = missing.map(|token| format!("nobody holds with token {token}, which nobody gave back"));
        let revived = ended.intersection(&held).map(|token| format!("token {token} holds again"));
        missing.chain(revived).collect()
    }

    fn rows_as_table(&self) -> Table {
        let Rows { revision, lost, sessions, claims, settings, groups, .. } = self.rows.clone();
        Table::restore(revision, lost, sessions, claims, settings, groups)
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
        let tail = store.read(NAMESPACE, after, READ).await?;
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
    let granted = answers.iter().filter_map(|answer| match &answer.told {
        Told::Granted { token, session: holder, .. } if holder == session => Some(*token),
        _ => None,
    });
    granted.collect()
}

/// The contents of a log.
#[derive(Default)]
struct Said<'a> {
    events: BTreeMap<u64, &'a Event>,
    opened: BTreeSet<&'a str>,
    closed: BTreeSet<&'a str>,
    /// The tokens of holds that have ended.
    released: BTreeSet<u64>,
    limits: BTreeSet<(&'a str, u32)>,
}

impl<'a> Said<'a> {
    fn of(log: impl Iterator<Item = &'a Recorded>) -> Self {
        let mut said = Self::default();
        for Recorded { revision, event } in log {
            said.events.insert(revision.0, event);
            match event {
                Event::SessionOpened(spec) => drop(said.opened.insert(&spec.id)),
                Event::SessionEnded { session, .. } => drop(said.closed.insert(session)),
                Event::ClaimEnded { token: Some(token), .. } => drop(said.released.insert(token.0)),
                Event::LockConfigured { name, settings, .. } => {
                    said.limits.extend(settings.limit.map(|set| (&**name, set)))
                }
                _ => {}
            }
        }
        said
    }

    fn has(&self, told: &Told) -> bool {
        match told {
            Told::Opened { session } => self.opened.contains(&**session),
            Told::Closed { session } => self.closed.contains(&**session),
            Told::Granted { token, names, session } => matches!(
                self.events.get(token),
                Some(Event::ClaimGranted { spec, .. })
                    if *spec.session == **session && spec.names.iter().map(|name| &**name).eq(names)
            ),
            Told::Released { token } => self.released.contains(token),
            Told::Limited { name, limit } => self.limits.contains(&(&**name, *limit)),
            Told::Configured { group, config, revision } => matches!(
                self.events.get(revision),
                Some(Event::Group { group: of, change: GroupChange::Configured { config: Some(value) }, .. })
                    if **of == **group && **value == **config
            ),
        }
    }
}
