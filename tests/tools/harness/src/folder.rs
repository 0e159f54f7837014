//! A temporary folder that is removed, and the process in it ended, when it is dropped or this process dies.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use rustix::process::Signal;

use crate::program::User;

/// Waits for the end of its input, which is the end of the process that started it; ends the process group whose leader
/// is in the folder's `process` file, and any other process that works in the folder, gently for 5 s each; then removes
/// the folder.
const REAPER: &str = r#"
detached() {
  find /proc -maxdepth 2 -name cwd \( -lname "$1" -o -lname "$1/*" \) 2> /dev/null | cut -d / -f 3
}
cat > /dev/null
cd /
pid=$(cat "$1/process" 2> /dev/null)
if [ -n "$pid" ]; then
  kill "-$2" "$pid" 2> /dev/null
  left=50
  while [ "$left" -gt 0 ] && grep -q '^State:.[^ZX]' "/proc/$pid/status" 2> /dev/null; do
    kill -s CONT "$pid" 2> /dev/null
    sleep 0.1
    left=$((left - 1))
  done
  kill -s KILL -- "-$pid" 2> /dev/null
fi
for process in $(detached "$1"); do
  kill "-$2" "$process" 2> /dev/null
  kill -s CONT "$process" 2> /dev/null
done
left=50
while [ "$left" -gt 0 ] && [ -n "$(detached "$1")" ]; do
  sleep 0.1
  left=$((left - 1))
done
for process in $(detached "$1"); do
  kill -s KILL "$process" 2> /dev/null
done
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
"#;

/// The folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    reaper: Child,
}

impl Folder {
    /// Creates a folder that belongs to `user`. `signal` asks the process in it to end.
    pub(crate) fn create(user: Option<User>, signal: Signal) -> anyhow::Result<Self> {
        Self::create_in(&std::env::temp_dir(), user, signal)
    }

    /// Creates one within another folder.
    pub(crate) fn create_in(parent: &Path, user: Option<User>, signal: Signal) -> anyhow::Result<Self> {
        let path =
            tempfile::Builder::new().prefix("tenure-").tempdir_in(parent).context("making a temporary folder")?;
        let path = path.keep();
        // The reaper starts first, so that no later failure leaves the folder behind. It has a process group of its
        // own, so that Ctrl-C in a terminal does not end it together with the tests.
        let reaper = Command::new("sh")
            .args(["-c", REAPER, "reaper"])
            .arg(&path)
            .arg(signal.as_raw().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("starting sh")?;
        let folder = Self { path, reaper };
        if let Some(user) = user {
            chown(&folder.path, Some(user.id), Some(user.group)).context("changing the owner of a temporary folder")?;
        }
        Ok(folder)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records the process that is to end with the folder, or that there is none.
    pub(crate) fn record_process(&self, id: Option<u32>) -> anyhow::Result<()> {
        let text = id.map(|id| id.to_string()).unwrap_or_default();
        fs::write(self.path.join("process"), text).context("recording a process")
    }
}

/// Creates a folder that belongs to `user`.
pub(crate) fn create_for(path: &Path, user: Option<User>) -> anyhow::Result<()> {
    fs::create_dir(path).with_context(|| format!("making {}", path.display()))?;
    if let Some(user) = user {
        chown(path, Some(user.id), Some(user.group))
            .with_context(|| format!("changing the owner of {}", path.display()))?;
    }
    Ok(())
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.reaper.stdin.take());
        // The reaper waits 10 s at most.
        let _ = self.reaper.wait();
    }
}
