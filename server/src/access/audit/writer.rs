//! Writes the audit log, in a thread of its own: whoever waits for an answer does not wait for a disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often is looked whether the file was moved away, and whether lines were lost, if there are no lines.
const LOOK: Duration = Duration::from_secs(1);

/// The most lines that are written at once.
const MANY: usize = 1_000;

pub(super) struct Writer {
    to: To,
    failing: bool,
}

enum To {
    StandardOutput,
    /// If somebody moves it away, as tools do that keep logs short, it is made anew.
    File(PathBuf, File),
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl Writer {
    /// `-` is standard output.
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

    /// Writes until nobody is left who tells.
    pub(super) fn run(mut self, lines: &Receiver<Vec<u8>>, lost: impl Fn() -> Option<Vec<u8>>) {
        loop {
            let mut bytes = match lines.recv_timeout(LOOK) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            lines.try_iter().take(MANY).for_each(|line| bytes.extend(line));
            bytes.extend(lost().into_iter().flatten());
            let written = self.write(&bytes);
            self.tell(written);
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

    /// Says once that it cannot be written, and once that it can again.
    fn tell(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) if self.failing => tracing::info!("the audit log is written again"),
            Err(ref error) if !self.failing => tracing::error!(%error, "the audit log cannot be written"),
            _ => {}
        }
        self.failing = written.is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_and_a_file_that_was_moved_away_is_made_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, moved) = (folder.path().join("audit"), folder.path().join("audit.1"));
        std::fs::write(&path, "before\n").expect("written");
        let mut writer = Writer::open(&path).expect("it can be written");
        writer.write(b"one\n").expect("written");
        std::fs::rename(&path, &moved).expect("moved");
        writer.write(b"two\n").expect("written");
        assert_eq!(std::fs::read_to_string(&moved).expect("there"), "before\none\n");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "two\n");
        assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o600, "nobody else reads it");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let problem = Writer::open(Path::new("/no/such/folder/audit")).map(drop).expect_err("it cannot be");
        assert!(problem.to_string().starts_with("/no/such/folder/audit: "), "{problem}");
    }
}
