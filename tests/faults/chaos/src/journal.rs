//! The journal of a client process, written line by line, so that entries written before a kill count.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tenure_checker::{Entry, History, WatchItem};

/// The journal of a client process. Clones write to the same file.
#[derive(Clone, Debug)]
pub struct Journal(Arc<Mutex<File>>);

impl Journal {
    /// Creates a journal in this file.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn begin(file: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create_new(true).append(true).open(file).context("beginning a journal")?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// Writes an entry in a single write, so that a kill leaves at most one partial line, the last one.
    ///
    /// # Panics
    /// If it cannot be written: a history with gaps proves nothing.
    pub fn write(&self, entry: &Entry) {
        let mut line = serde_json::to_vec(entry).expect("an entry is JSON");
        line.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).expect("the journal takes a line");
    }
}

/// The journals of all clients.
#[derive(Debug, Default)]
pub struct Collected {
    /// The history for the checker.
    pub history: History,
    /// When a watch first reported an event, by revision.
    pub reported: BTreeMap<u64, Duration>,
}

impl Collected {
    /// Adds the journal of one process.
    ///
    /// # Errors
    /// If it cannot be read, except for the last line, which a kill may have truncated.
    pub fn add(&mut self, file: &Path) -> anyhow::Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let entry = serde_json::from_str(line).with_context(|| format!("{}: {line}", file.display()))?;
            if let Entry::Watched { at, item, .. } = &entry {
                self.record(*at, item);
            }
            self.history.add(entry);
        }
        Ok(())
    }

    fn record(&mut self, at: Duration, item: &WatchItem) {
        if let WatchItem::Events { events, .. } = item {
            for (revision, ..) in events {
                let first = self.reported.entry(*revision).or_insert(at);
                *first = at.min(*first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_before_a_kill_are_collected() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("journal");
        let journal = Journal::begin(&file).expect("a journal");
        journal.write(&Entry::Rejected("one".to_owned()));
        let events = vec![(3, "job".to_owned(), "granted".into()), (4, "job".to_owned(), "ended".into())];
        let item = WatchItem::Events { events, revision: 4 };
        for (watch, at) in [("one", 7), ("other", 8), ("one", 9)] {
            let (watch, at) = (watch.to_owned(), Duration::from_secs(at));
            journal.write(&Entry::Watched { watch, at, item: item.clone() });
        }
        OpenOptions::new().append(true).open(&file).expect("the journal").write_all(b"{\"Rejec").expect("half a line");
        let mut collected = Collected::default();
        collected.add(&file).expect("it can be read");
        assert_eq!(collected.history.rejected, ["one"]);
        let (one, other) = (vec![item.clone(), item.clone()], vec![item]);
        assert_eq!(collected.history.watches, [("one".to_owned(), one), ("other".to_owned(), other)].into());
        assert_eq!(collected.reported, [(3, Duration::from_secs(7)), (4, Duration::from_secs(7))].into());
    }

    #[test]
    fn journal_with_a_broken_line_inside_is_rejected() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("journal");
        fs::write(&file, "{\"Rejected\":\"one\"}\n{\"Rejec\n").expect("a file");
        assert!(Collected::default().add(&file).is_err());
    }
}
