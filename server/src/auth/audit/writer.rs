//! Writes the audit log in its own thread, so that callers do not wait for a disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use super::Pending;
use super::line::Line;
use super::tally::Tally;

/// Without new lines, the interval of checks for a moved file and for lost lines.
const LOOK: Duration = Duration::from_secs(1);

/// The maximum number of lines in one write, after the first.
const MANY: usize = 1_000;

pub(super) struct Writer {
    to: To,
    failing: bool,
}

enum To {
    StandardOutput,
    /// Reopened if the file is moved away, as log rotation tools do.
    File(PathBuf, File),
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl Writer {
    /// Opens the file; `-` is standard output.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let to = if path == Path::new("-") {
            To::StandardOutput
        } else {
            let file =
                opened(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            To::File(path.to_owned(), file)
        };
        Ok(Self { to, failing: false })
    }

    /// Writes lines until all senders are dropped.
    pub(super) fn run(mut self, lines: &Receiver<Pending>, tally: &Tally) {
        loop {
            let first = lines.recv_timeout(LOOK);
            let is_over = matches!(first, Err(RecvTimeoutError::Disconnected));
            let batch: Vec<Pending> = first.into_iter().chain(lines.try_iter().take(MANY)).collect();
            let sums = tally.sum_up(Instant::now());
            let summed_up = Line::sums(sums).map(|line| line.encode(SystemTime::now()));
            let encoded = batch.iter().map(|(line, _)| line).chain(&summed_up);
            let bytes: Vec<u8> = encoded.flatten().copied().collect();
            let written = self.write(&bytes);
            if written.is_err() {
                tally.lost(batch.len());
                tally.take_back(sums);
            }
            self.log_outcome(written);
            if is_over {
                return;
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::StandardOutput => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            To::File(path, file) => {
                let there = std::fs::metadata(&*path).ok().map(|found| (found.dev(), found.ino()));
                let ours = file.metadata().map(|found| (found.dev(), found.ino()))?;
                if there != Some(ours) {
                    *file = opened(path)?;
                }
                file.write_all(bytes)
            }
        }
    }

    /// Logs the first failure, and the recovery after it.
    fn log_outcome(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) if self.failing => tracing::info!("the audit log can be written again"),
            Err(ref error) if !self.failing => tracing::error!(%error, "cannot write the audit log"),
            _ => {}
        }
        self.failing = written.is_err();
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;

    use super::*;

    #[test]
    fn lines_are_appended_and_a_rotated_file_is_recreated() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, moved) = (folder.path().join("audit"), folder.path().join("audit.1"));
        std::fs::write(&path, "before\n").expect("written");
        let mut writer = Writer::open(&path).expect("writable");
        writer.write(b"one\n").expect("written");
        std::fs::rename(&path, &moved).expect("moved");
        writer.write(b"two\n").expect("written");
        assert_eq!(std::fs::read_to_string(&moved).expect("present"), "before\none\n");
        assert_eq!(std::fs::read_to_string(&path).expect("present"), "two\n");
        assert_eq!(std::fs::metadata(&path).expect("present").mode() & 0o777, 0o600, "only the owner reads it");
    }

    #[test]
    fn lines_lost_to_a_full_disk_are_counted() {
        let (sender, lines) = std::sync::mpsc::channel();
        let (tally, pending) = (Tally::default(), TaskTracker::new());
        for _ in 0..3 {
            sender.send((b"line\n".to_vec(), pending.token())).expect("the receiver exists");
        }
        drop(sender);
        Writer::open(Path::new("/dev/full")).expect("opened").run(&lines, &tally);
        assert!(pending.is_empty());
        assert_eq!(tally.sum_up(Instant::now()).lost, 3);
    }

    #[test]
    fn file_that_cannot_be_written_is_named() {
        let problem = Writer::open(Path::new("/no/such/folder/audit")).map(drop).expect_err("not writable");
        assert!(problem.to_string().starts_with("/no/such/folder/audit: "), "{problem}");
    }
}
